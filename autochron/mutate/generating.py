def compiled(text, path, qualname):
    code=compile(text,path,'exec')
    for step in [s for s in qualname.split('.') if s!='<locals>']:
        code=next(c for c in code.co_consts if hasattr(c,'co_name') and c.co_name==step)
    return code

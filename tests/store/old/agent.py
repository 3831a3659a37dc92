def look_up(order):
    return {"order": order, "cents": 1295}


def refund(order, cents):
    if cents > 1000:
        raise ValueError(f"{cents} is too much")
    return cents


print(look_up("48213"))
try:
    refund("48213", 129500)
except ValueError as error:
    print(error)

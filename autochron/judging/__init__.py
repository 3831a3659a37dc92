"""An advisory judge: a model scores a subject against a rubric, and the judgement is kept like any other crossing.

`judgement` is the face; `question` is what is asked, `verdict` what must come back, `speakers` who is asked, in the child
process that `__main__` is and `process` starts; `record` keeps judgements in a trace file; `labels`, `agreement` and
`measuring` tell how far a judge agrees with people. `settings` says whether a model may be called at all.
"""

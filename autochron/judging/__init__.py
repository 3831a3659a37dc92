"""An advisory judge: a model scores a subject against a rubric, and the judgement is recorded like any other crossing.

- `judgement` is the public interface.
- `question` makes the prompt, and `verdict` reads the reply.
- `process` starts a child process, whose code is `__main__`, and `model_clients` calls the model there.
- `record` keeps judgements in a trace file, and `settings` determines whether a model may be called at all.
- `labels`, `agreement` and `measuring` measure how far a judge agrees with people.
"""

"""Record a Python agent at its boundaries without touching its source, and replay it without a model.

    with autochron.record("run-1"):  # the boundaries are those of autochron.toml
        run_agent()

    with autochron.replay("run-1"):  # raises DivergenceError where the agent does something else
        run_agent()

The public names are:

- `record`: a context manager that records what crosses the boundaries while its block runs.
- `replay`: a context manager that serves a recorded trace to these boundaries, except those that are live.
- `boundary`: a decorator that makes a function a boundary without a rule.
- `wrap`: makes the methods of one client boundaries.
- `judge`: scores a text against a rubric by a model, whose judgement is recorded and then served.

`help(autochron.record)` and so on describe arguments, results and errors. Exceptions are in `autochron.errors`.

Importing this module imports nothing else: a public name is imported when it is first used. PYTEST_DONT_REWRITE: without
this word pytest would warn that it can't rewrite our assertions if it is imported after us, as in `autochron run -m pytest`.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False

_running = sys.version_info[:2]
if not (3, 11) <= _running <= (3, 13):
    # Weaving edits bytecode, which differs between minor versions of Python.
    _refusal = f"autochron runs on Python 3.11, 3.12 and 3.13, and this is {_running[0]}.{_running[1]}; use one of those"
    if sys.argv[:1] == ["-m"]:  # `python -m autochron`: one line, no traceback
        sys.stderr.write(f"{_refusal}\n")
        raise SystemExit(2)
    raise ImportError(_refusal)

if (
    TYPE_CHECKING
):  # not `typing`'s: its import takes 5 ms, and `autochron run` may import this module in two processes
    from typing import Any

    from autochron.instrument.decorators import boundary, wrap
    from autochron.judging.judgement import judge
    from autochron.session.record_context import record
    from autochron.session.replay_context import replay

__version__ = "0.1.0"

__all__ = ["boundary", "judge", "record", "replay", "wrap"]

_HOMES = {
    "boundary": "autochron.instrument.decorators",
    "judge": "autochron.judging.judgement",
    "record": "autochron.session.record_context",
    "replay": "autochron.session.replay_context",
    "wrap": "autochron.instrument.decorators",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # lazy: only for programs that use a public name

    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

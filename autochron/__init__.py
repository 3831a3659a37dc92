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


def _refuse() -> str:
    """Return why this Python can't be used; an empty string if it can."""
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    if sys.implementation.name != "cpython":
        # Weaving edits CPython's bytecode.
        return f"autochron runs on CPython only, and this is {sys.implementation.name} {version}; use CPython 3.11 or newer"
    if sys.version_info < (3, 11):  # noqa: UP036 - it may be imported there, too
        return f"autochron runs on Python 3.11 and newer, and this is {version}; use one of those"
    if "t" in getattr(sys, "abiflags", ""):
        return f"this Python {version} is built without the GIL, where autochron has not been verified; use the usual build"
    if hasattr(sys, "gettotalrefcount"):
        return f"this Python {version} is a debug build, where autochron has not been verified; use the usual build"
    return ""


_refusal = _refuse()
if _refusal:
    if sys.argv[:1] == ["-m"]:  # `python -m autochron`: one line, no traceback
        sys.stderr.write(f"{_refusal}\n")
        raise SystemExit(2)
    raise ImportError(_refusal)

if hasattr(sys, "set_lazy_imports_filter"):  # since Python 3.15
    from autochron._runtime import lazy_imports

    lazy_imports.keep_ours()

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

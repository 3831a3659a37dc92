"""Record a Python agent at its boundaries without touching its source, and replay it without a model.

Importing this module does nothing: what it offers is imported when it is first used. PYTEST_DONT_REWRITE: pytest would
warn that it can't rewrite our assertions where we were imported before it, as in `autochron run -m pytest`.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False

_running = sys.version_info[:2]
if not (3, 11) <= _running <= (3, 13):
    # Weaving edits bytecode, which every minor version writes differently.
    _refusal = f"autochron runs on Python 3.11, 3.12 and 3.13, and this is {_running[0]}.{_running[1]}; use one of those"
    if sys.argv[:1] == ["-m"]:  # `python -m autochron`: one line, no traceback
        sys.stderr.write(f"{_refusal}\n")
        raise SystemExit(2)
    raise ImportError(_refusal)

if TYPE_CHECKING:  # not `typing`'s: `autochron run` comes by here twice, and it costs 5 ms
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
    from importlib import import_module  # lazy: what a program doesn't use, it doesn't import

    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

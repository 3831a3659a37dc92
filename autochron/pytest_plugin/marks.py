"""The options of a test's marker: `@pytest.mark.autochron(trace, live=…)`."""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from autochron._runtime.unpatched import os
from autochron.errors import UsageError
from autochron.model import Rules, Trace
from autochron.replaying.plan import INPUTS
from autochron.rules.nearest import nearest

if TYPE_CHECKING:
    import pytest

Reference: TypeAlias = str | os.PathLike[str] | Trace

KEYWORDS = (
    *("live", "swap", "inputs", "deny", "rules", "store", "check", "allow_unwoven", "watch", "volatile"),
    *("predicate", "part"),
)

TRACE_FILE = ".jsonl"

Part: TypeAlias = Literal["incident", "twin", "edges"]
"""Which part of an incident's test a test is.

`incident`: the recorded incident, with which the harm must not be done. `twin`: a recorded run that must still go through.
`edges`: calls beside the incident's.
"""

PARTS: tuple[Part, ...] = get_args(Part)

EXAMPLE = '@pytest.mark.autochron("trace.jsonl", live=["issue_refund[1]"])'


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkerOptions:
    """The options of one marker.

    Attributes:
        trace: a trace, the path of its file, or its name in a store.
        shown: the trace's name in messages.
        is_file: whether `trace` is the path of a trace file.
        part: which part of an incident's test it is; a mutation study counts the parts apart.
        the others: as for `autochron.replay`.
    """

    trace: Reference
    shown: str
    is_file: bool
    live: Any = ()
    swap: Mapping[str, str | Callable[..., Any]] | None = None
    inputs: Any = None
    deny: tuple[str, ...] = ()
    rules: Rules | str | os.PathLike[str] | None = None
    store: Any = None
    check: bool = True
    allow_unwoven: bool = False
    watch: bool = False
    volatile: tuple[str, ...] = ()
    predicate: str | os.PathLike[str] | None = None
    part: Part = "incident"


def traces_of(marker: pytest.Mark, item: pytest.Item) -> list[Reference] | None:
    """Return the traces of a marker that names several, by a list or a pattern of files; None if it names one trace.

    Raises:
        UsageError: the list is empty, no file fits the pattern, or something in the list is no trace.
    """
    argument = _trace_argument(marker)
    if isinstance(argument, str) and glob.has_magic(argument):
        files = _globbed(argument, item)
        if files is None:
            return None
        argument = files
    elif isinstance(argument, str | os.PathLike | Trace) or not isinstance(argument, Iterable):
        return None
    traces = list(argument)
    if not traces:
        raise UsageError("the marker's list of traces is empty; name one at least")
    for trace in traces:
        _check(trace)
    return traces


def _globbed(pattern: str, item: pytest.Item) -> list[str] | None:
    """Return the files that fit a pattern in the test's folder, else in rootdir; None if a file's name is the pattern."""
    for folder in _folders(item):
        path = os.path.join(folder, pattern)
        if os.path.isfile(path):
            return None
        files = sorted(glob.glob(path, recursive=True))
        if files:
            return files
    raise UsageError(
        f"no trace file fits {pattern!r} in {_folders(item)[0]} or in rootdir; export traces there, or mend the pattern"
    )


def ids_of(traces: Sequence[Reference]) -> list[str]:
    """Return an id for each parametrized test: the folder and name of its trace file, or the trace's name."""
    ids = [_id(trace) for trace in traces]
    return ids if len(set(ids)) == len(ids) else [f"{name}-{index}" for index, name in enumerate(ids)]


def _id(trace: Reference) -> str:
    if isinstance(trace, Trace):
        return trace.header.name or trace.header.id
    path = os.fspath(trace).replace(os.sep, "/").removesuffix(TRACE_FILE)
    return "/".join(path.split("/")[-2:])


def marker_options(marker: pytest.Mark, item: pytest.Item, trace: Reference | None) -> MarkerOptions:
    """Read the options of a marker.

    Args:
        marker: the marker.
        item: the test.
        trace: the trace of a parametrized test; None to use the marker's.

    Raises:
        UsageError: an option is unknown or has an invalid value; or the marker names no trace, or several for a test that
            can't be parametrized.
    """
    if trace is None:
        trace = _trace_argument(marker)
        if traces_of(marker, item) is not None:
            raise UsageError(
                f"a {type(item).__name__} can't be run for several traces; name one, or write it as a function of pytest's"
            )
    _check(trace)
    options = {name: value for name, value in marker.kwargs.items() if name != "trace"}
    for name in options:
        if name not in KEYWORDS:
            near = nearest(KEYWORDS, name)
            advice = f"did you mean {near}?" if near else f"it takes {', '.join(KEYWORDS)}"
            raise UsageError(f"the marker autochron has no {name}=; {advice}")
    _check_options(options)
    rules = options.get("rules")
    if isinstance(rules, str | os.PathLike):
        options["rules"] = _located(os.fspath(rules), item)
    if options.get("predicate") is not None:
        options["predicate"] = _located(os.fspath(options["predicate"]), item)
    options["volatile"] = tuple(_words(options.get("volatile", ())))
    deny = [*_words(options.get("deny", ())), *_words(item.config.getoption("--autochron-deny") or ())]
    options["deny"] = tuple(dict.fromkeys(deny))
    is_file = not isinstance(trace, Trace) and os.fspath(trace).endswith(TRACE_FILE)
    if is_file and not isinstance(trace, Trace):
        trace = _located(os.fspath(trace), item)
    return MarkerOptions(trace=trace, shown=_shown(trace, item, is_file=is_file), is_file=is_file, **options)


def _trace_argument(marker: pytest.Mark) -> Any:
    """Return the marker's argument `trace`."""
    if len(marker.args) > 1:
        raise UsageError(
            f"the marker autochron was given {len(marker.args)} values; give several traces as a list, and the rest by"
            f" name: {EXAMPLE}"
        )
    if marker.args and "trace" in marker.kwargs:
        raise UsageError(f"the marker autochron was given its trace twice; give it once: {EXAMPLE}")
    if not marker.args and "trace" not in marker.kwargs:
        raise UsageError(f"the marker autochron names no trace; give a trace file or a name: {EXAMPLE}")
    return marker.args[0] if marker.args else marker.kwargs["trace"]


def _check(trace: object) -> None:
    if not isinstance(trace, str | os.PathLike | Trace) or trace == "":
        raise UsageError(
            f"the marker autochron can't replay {trace!r}; give the path of a trace file, the name of a trace, or a list of"
            f" these: {EXAMPLE}"
        )


def _check_options(options: Mapping[str, Any]) -> None:
    for name in ("check", "allow_unwoven", "watch"):
        if not isinstance(options.get(name, True), bool):
            raise UsageError(f"{name}={options[name]!r} in the marker autochron: it is True or False")
    for name, values in (("inputs", INPUTS), ("part", PARTS)):
        value = options.get(name)
        if value is not None and value not in values:
            near = nearest(values, str(value))
            raise UsageError(
                f"{name}={value!r} in the marker autochron: it is one of {', '.join(values)}"
                + (f"; did you mean {near}?" if near else "")
            )
    predicate = options.get("predicate")
    if predicate is not None and not isinstance(predicate, str | os.PathLike):
        raise UsageError(
            f'predicate={predicate!r} in the marker autochron: it is the path of a file, such as "predicate.py"'
        )
    swap = options.get("swap")
    if swap is not None and not isinstance(swap, Mapping):
        raise UsageError(
            f"swap={swap!r} in the marker autochron: it is a table, such as"
            ' {"shop.tools:refund": "shop.fixed:refund"}'
        )


def _words(value: str | Iterable[str]) -> list[str]:
    return value.split(",") if isinstance(value, str) else list(value)


def _folders(item: pytest.Item) -> tuple[str, str]:
    """Return the folders that a relative path is looked for in: the test's folder and rootdir."""
    return (os.path.dirname(item.path), str(item.config.rootpath))


def _located(path: str, item: pytest.Item) -> str:
    """Return the path of a file in the test's folder or in rootdir; if it is in neither, its path in the test's folder."""
    places = [os.path.normpath(os.path.join(folder, path)) for folder in _folders(item)]
    return next((place for place in places if os.path.exists(place)), places[0])


def _shown(trace: Reference, item: pytest.Item, *, is_file: bool) -> str:
    """Return the trace's name for messages; the path of a file below rootdir is relative to rootdir."""
    if isinstance(trace, Trace):
        return trace.header.name or trace.header.id
    path = os.fspath(trace)
    root = os.path.join(str(item.config.rootpath), "")
    return path.removeprefix(root) if is_file else path

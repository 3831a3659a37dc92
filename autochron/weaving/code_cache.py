"""Keep the woven code of modules, so that what rules mean to a module is found once and not at every start.

An entry holds what weaving a module came to: its woven code, with gaps where the gate, points and sites belong, or
that nothing in it is woven, and what the planner and the ledger are to know of it. It is good for one content of the source,
and for one set of rules, versions and switches. What is damaged or out of date is made anew; what can't be written is not
kept.

Woven code is loaded as it stands, so an entry has a tag by a key of the user's: what another user put there is not loaded.
The folder must be the user's own and closed to others, or it is left alone.

Not the source's time and size, as Python's own caches have it: two files may share both, where one replaces the other at
once or times are set by whoever unpacks them. Reading and hashing a source of 1,000 lines costs about 10 µs.
"""

from __future__ import annotations

import _imp
import contextlib
import marshal
import sys
import warnings
from _blake2 import blake2b  # not hashlib, which loads OpenSSL
from collections.abc import Callable, Sequence
from importlib._bootstrap_external import MAGIC_NUMBER, cache_from_source
from types import CodeType, FunctionType, MethodType
from typing import Any, TypeAlias

from msgspec import Struct, structs

from autochron import user_key
from autochron._runtime import unpatched
from autochron._runtime.unpatched import os
from autochron.effects.undisturbed import undisturbed
from autochron.weaving import gate
from autochron.weaving.gate import GATE, Point

_FORMAT = b"autochron-plan-2"
_TAG = 16
_HEAD = len(_FORMAT) + _TAG
_HAS_COLUMNS = any(end for *_, end in compile("f()", "", "eval").co_positions())
"""Whether code is compiled with columns here: without them calls can't be told apart."""

_TICK = 20_000_000
"""Nanoseconds within which a file system may give two changes the same time."""

_AGE = 30 * 24 * 3600.0
"""Seconds after which what other rules left is dropped."""


State: TypeAlias = tuple[int, bytes]
"""Length and hash of a source."""

Gaps: TypeAlias = "tuple[tuple[int, int | Gaps], ...]"
"""The gaps in a code object's constants: (place, which object belongs there) or (place of an inner code object, its gaps)."""


class WovenModule(Struct, frozen=True):
    """What weaving a module came to."""

    notes: dict[str, Any]
    """What the planner is to know again; plain data."""
    ledger: list[tuple[str, str, str]]
    """(what, reason, slug) of what was refused."""
    code: CodeType | None
    """With gaps in its constants; None where nothing is woven."""
    gaps: Gaps
    """Where they are."""
    objects: list[tuple[Any, ...]]
    """What belongs there."""


def default_folder() -> str | None:
    """Return the folder of the user's caches; None where Python keeps no bytecode either."""
    given = unpatched.environ.get("AUTOCHRON_CACHE")
    if given is not None:
        return given or None
    if sys.dont_write_bytecode:
        return None
    base = unpatched.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "autochron", "woven")


def version_of_code() -> int:
    """Return when what finds and weaves was last changed: more often than its version, where someone works on it."""
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    try:
        return max(
            entry.stat().st_mtime_ns
            for folder in ("rules", "matching", "weaving", "session")
            for entry in os.scandir(os.path.join(here, folder))
            if entry.name.endswith(".py")
        )
    except (OSError, ValueError):  # in an archive
        return 0


class Plans:
    """The entries in a folder for one set of rules."""

    def __init__(self, folder: str, key: Sequence[object]) -> None:
        """Take a folder and whatever the entries depend on besides source and module."""
        self._key = (*key, MAGIC_NUMBER.hex(), sys.flags.optimize, _HAS_COLUMNS)
        self._top = folder
        self._secret: bytes | None = None
        self.refusal: str | None = None
        """Why the folder is left alone, once it was to be used: empty where it can't be made. None where it is used."""

    def read(self, module: str, path: str, more: Sequence[object], state: State) -> WovenModule | None:
        """Return the entry of a module for a state of its source; None where there is none that is good."""
        if not self._is_ours():
            return None
        try:
            file = self._place(module, path, more)
            with open(user_key.open_own_file(file), "rb", buffering=0) as stream:
                data = stream.read()
            content = memoryview(data)[_HEAD:]
            if data[:_HEAD] != _FORMAT + self._tag(content):
                return None
            known, entry = marshal.loads(content)  # noqa: S302 - of the user's own cache, as Python's is
            return WovenModule(*entry) if known == (module, path, state) else None
        except (OSError, ValueError, EOFError, TypeError):
            return None

    def write(self, module: str, path: str, more: Sequence[object], state: State, entry: WovenModule) -> None:
        """Keep an entry, whole or not at all; nothing where the source is not as it was before its code was loaded."""
        if sys.dont_write_bytecode or state_of(path) != state or not self._is_ours():
            return
        try:
            data = marshal.dumps(((module, path, state), structs.astuple(entry)))
            with undisturbed():
                self._keep(self._place(module, path, more), _FORMAT + self._tag(data) + data)
        except (OSError, ValueError):
            return  # a folder that can't be written, or a constant that can't be kept

    def _is_ours(self) -> bool:
        """Return whether the folder may be used: it is the user's own. It is looked at once."""
        if self._secret is None and self.refusal is None:
            with undisturbed():
                self._secret = user_key.user_key(b"woven code")
                self.refusal = "" if self._secret is None else self._looked_at()
        return self.refusal is None

    def _looked_at(self) -> str | None:
        """Make the folder, or look whose it is; return what is wrong."""
        try:
            os.makedirs(self._top, mode=0o700, exist_ok=True)
            os.close(user_key.open_own_folder(self._top))
        except user_key.UnsafePlaceError as error:
            return (
                f"the folder of woven code {self._top} is not used: {error}; let it be yours with mode 0700"
            )
        except OSError:
            if os.path.islink(self._top):
                return f"the folder of woven code {self._top} is not used: it is a link; name a folder"
            return ""  # it can't be made, so nothing is kept
        return None

    def _tag(self, content: bytes | memoryview) -> bytes:
        return blake2b(content, key=self._secret or b"", digest_size=_TAG).digest()

    def _keep(self, file: str, data: bytes) -> None:
        folder = os.path.dirname(file)
        if not os.path.isdir(folder):
            os.makedirs(folder, mode=0o700, exist_ok=True)
            _drop_old(self._top, folder)
        passing = f"{file}.{unpatched.getpid()}.{unpatched.get_ident()}"
        with open(passing, "wb") as stream:
            stream.write(data)
        os.replace(passing, file)

    def _place(self, module: str, path: str, more: Sequence[object]) -> str:
        rules = _imp.source_hash(1, repr((self._key, *more)).encode("utf-8", "surrogateescape")).hex()
        name = _imp.source_hash(2, f"{module}\0{path}".encode("utf-8", "surrogateescape")).hex()
        return os.path.join(self._top, rules, name)


def state_of(path: str) -> State | None:
    """Return the length and hash of a source; None where it can't be read."""
    try:
        with open(path, "rb", buffering=0) as stream:
            data = stream.read()
    except (OSError, ValueError):
        return None
    return len(data), _imp.source_hash(3, data)


def is_of_source(code: CodeType, path: str) -> bool:
    """Return whether a code that Python loaded is what stands in the source now.

    Python's cache of bytecode goes by whole seconds and size, and may be told not to look at the source at all. Only where
    it was written before the source was last changed is there anything to doubt, and then the source is compiled.
    """
    try:
        cached = os.stat(cache_from_source(path))
    except (OSError, NotImplementedError):
        return True
    try:
        if cached.st_mtime_ns > os.stat(path).st_ctime_ns + _TICK:
            return True
        with open(path, "rb") as stream, warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # what Python has to say of the source it said when it compiled it
            return compile(stream.read(), path, "exec", dont_inherit=True) == code
    except (OSError, ValueError, SyntaxError):
        return False


def _drop_old(top: str, own: str) -> None:
    """Drop the entries that nobody has used for a month: of rules, versions and projects of old."""
    limit = unpatched.time_ns() / 1e9 - _AGE
    with os.scandir(top) as found:
        folders = [each for each in found if each.path != own and each.is_dir(follow_symlinks=False)]
    for folder in folders:
        with contextlib.suppress(OSError), os.scandir(folder.path) as entries:  # another process may be at it
            files = list(entries)
            if all(max(file.stat().st_mtime, file.stat().st_atime) < limit for file in files):
                for file in files:
                    os.unlink(file.path)
                os.rmdir(folder.path)


# --- code objects as plain data ----------------------------------------------------------------------------------------


def pack(code: CodeType, number: Callable[[Any], int]) -> tuple[CodeType, Gaps, list[tuple[Any, ...]]]:
    """Take out of a code object what is no plain constant, and describe it; `number` numbers rules."""
    objects: list[tuple[Any, ...]] = []
    places: dict[int, int] = {}

    def described(value: Any) -> tuple[Any, ...] | None:
        if value is GATE:
            return ("gate",)
        if type(value) is Point:
            return ("point", _point(value, number))
        if type(value) is FunctionType and value.__module__ == gate.__name__:
            return ("function", value.__name__)
        if type(value) is MethodType and type(value.__self__).__name__ == "CodeSite":
            site: Any = value.__self__
            if id(site) not in places:
                places[id(site)] = len(objects)
                objects.append(("site", site.packed(number)))
            return ("method", value.__name__, places[id(site)])
        return None

    def packed(inner: CodeType) -> tuple[CodeType, Gaps]:
        constants: list[Any] = list(inner.co_consts)
        gaps: list[tuple[int, int | Gaps]] = []
        for place, value in enumerate(constants):
            if type(value) is CodeType:
                constants[place], below = packed(value)
                if below:
                    gaps.append((place, below))
                continue
            description = described(value)
            if description is not None:
                constants[place] = None
                gaps.append((place, len(objects)))
                objects.append(description)
        return (inner.replace(co_consts=tuple(constants)), tuple(gaps)) if gaps else (inner, ())

    return (*packed(code), objects)


def unpack(
    entry: WovenModule, rules: Sequence[Any], door: Callable[[str], Any]
) -> tuple[CodeType, list[Point], list[Any]]:
    """Put the objects back, with the `door` of the HTTP client that a module defines; gives code, points and sites."""
    made: list[Any] = []
    points: list[Point] = []
    sites: list[Any] = []
    for kind, *rest in entry.objects:
        if kind == "gate":
            made.append(GATE)
        elif kind == "point":
            points.append(_made_point(rest[0], rules, door))
            made.append(points[-1])
        elif kind == "function":
            made.append(getattr(gate, rest[0]))
        elif kind == "site":
            from autochron.weaving.sites import CodeSite  # lazy: most programs have none

            sites.append(CodeSite.unpacked(rest[0], rules))
            made.append(sites[-1])
        else:
            made.append(getattr(made[rest[1]], rest[0]))
    assert entry.code is not None  # noqa: S101 - the caller saw to it
    return _filled(entry.code, entry.gaps, made), points, sites


def _filled(code: CodeType, gaps: Gaps, made: Sequence[Any]) -> CodeType:
    constants = list(code.co_consts)
    for place, what in gaps:
        constants[place] = made[what] if isinstance(what, int) else _filled(constants[place], what, made)
    return code.replace(co_consts=tuple(constants))


def _point(point: Point, number: Callable[[Any], int]) -> tuple[Any, ...]:
    return (
        *(
            point.module,
            point.qualname,
            point.parameters,
            point.function,
            point.variadic,
            point.file,
            point.line,
        ),
        tuple([number(rule) for rule in point.rules]),
        *(bool(point.transport), point.replaced, point.trace),
    )


def _made_point(plain: tuple[Any, ...], rules: Sequence[Any], door: Callable[[str], Any]) -> Point:
    module, qualname, parameters, function, variadic, file, line, numbers, *rest = plain
    point = Point(
        *(module, qualname, parameters, function),
        variadic=variadic,
        file=file,
        line=line,
        rules=tuple([rules[number] for number in numbers]),
    )
    is_door, point.replaced, point.trace = rest
    point.transport = door(module) if is_door else None
    return point

"""A cache of woven code on disk, so that rules are matched and modules woven once, and not at every start.

An entry has the result of weaving one module: its woven code, with gaps where the gate, points and sites belong, or None if
nothing in it is woven, and what planner and ledger noted about it. An entry is valid for one content of the source and for
one set of rules, versions and switches. Damaged and outdated entries are made anew. What can't be written is not kept.

Woven code is executed as it was read, so each entry has a tag that is computed with the user's secret key. An entry of
another user is not loaded. The folder must belong to the user and be closed to others, or it is not used.

An entry is not identified by the source's time and size, as Python's own caches are: two files may share both, if one
replaces the other at once or an archive sets the times. Reading and hashing a source of 1,000 lines costs about 10 µs.
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
from autochron.weaving.assembler_choice import KEY
from autochron.weaving.gate import GATE, Point

_FORMAT = b"autochron-plan-2"
_TAG = 16
"""Bytes of an entry's tag."""
_HEAD = len(_FORMAT) + _TAG
_HAS_COLUMNS = any(end for *_, end in compile("f()", "", "eval").co_positions())
"""Whether this process compiles code with columns, without which calls can't be told apart."""

_TICK = 20_000_000
"""Nanoseconds within which a file system may give two changes the same time."""

_AGE = 30 * 24 * 3600.0
"""Seconds without use after which the entries of other rules are removed."""


State: TypeAlias = tuple[int, bytes]
"""Length in bytes and hash of a source."""

Gaps: TypeAlias = "tuple[tuple[int, int | Gaps], ...]"
"""The gaps in a code object's constants: (index, number of the object), or (index of an inner code object, its gaps)."""


class WovenModule(Struct, frozen=True):
    """The result of weaving a module."""

    notes: dict[str, Any]
    """What the planner noted about the module; plain data."""
    ledger: list[tuple[str, str, str]]
    """(what, reason, slug) of each refusal."""
    code: CodeType | None
    """The woven code, with gaps in its constants; None if nothing is woven."""
    gaps: Gaps
    objects: list[tuple[Any, ...]]
    """Descriptions of the objects that belong into the gaps, by number."""


def default_folder() -> str | None:
    """Return the folder of the user's code cache; None if `AUTOCHRON_CACHE` is empty, or Python writes no bytecode either."""
    configured = unpatched.environ.get("AUTOCHRON_CACHE")
    if configured is not None:
        return configured or None
    if sys.dont_write_bytecode:
        return None
    base = unpatched.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "autochron", "woven")


def version_of_code() -> int:
    """Return when the code that matches and weaves was last changed, in nanoseconds since 1970; 0 if it lies in an archive.

    While someone works on it, it changes more often than its version.
    """
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    try:
        return max(
            entry.stat().st_mtime_ns
            for folder in ("rules", "matching", "weaving", "instrument")
            for entry in os.scandir(os.path.join(package, folder))
            if entry.name.endswith(".py")
        )
    except (OSError, ValueError):  # in an archive
        return 0


class CodeCache:
    """The entries in a folder for one set of rules.

    Attributes:
        refusal: why the folder is not used, known after the first attempt: empty if the folder can't be created. None if the
            folder is used.
    """

    def __init__(self, folder: str, key: Sequence[object]) -> None:
        """Make a cache; nothing is read or written yet.

        Args:
            folder: where the entries are.
            key: all that the entries depend on besides module and source; its `repr` identifies it.
        """
        self._key = (*key, MAGIC_NUMBER.hex(), sys.flags.optimize, _HAS_COLUMNS, KEY)
        self._top = folder
        self._secret: bytes | None = None
        self.refusal: str | None = None

    def read(self, module: str, path: str, conditions: Sequence[object], state: State) -> WovenModule | None:
        """Return the entry of a module; None if there is no valid one.

        Args:
            module: the module's name.
            path: the file of its source.
            conditions: what the entry depends on besides the cache's key.
            state: of the source.
        """
        if not self._is_ours():
            return None
        try:
            file = self._place(module, path, conditions)
            with open(user_key.open_own_file(file), "rb", buffering=0) as stream:
                data = stream.read()
            content = memoryview(data)[_HEAD:]
            if data[:_HEAD] != _FORMAT + self._tag(content):
                return None
            identity, entry = marshal.loads(content)  # noqa: S302 - of the user's own cache, as Python's is
            return WovenModule(*entry) if identity == (module, path, state) else None
        except (OSError, ValueError, EOFError, TypeError):
            return None

    def write(
        self, module: str, path: str, conditions: Sequence[object], state: State, entry: WovenModule
    ) -> None:
        """Write an entry atomically; do nothing if the source has changed since its code was loaded.

        Args:
            module: the module's name.
            path: the file of its source.
            conditions: what the entry depends on besides the cache's key.
            state: of the source before its code was loaded.
            entry: the result of weaving.
        """
        if sys.dont_write_bytecode or state_of(path) != state or not self._is_ours():
            return
        try:
            data = marshal.dumps(((module, path, state), structs.astuple(entry)))
            with undisturbed():
                self._keep(self._place(module, path, conditions), _FORMAT + self._tag(data) + data)
        except (OSError, ValueError):
            return  # a folder that can't be written, or a constant that can't be kept

    def _is_ours(self) -> bool:
        """Return whether the folder may be used, because it is the user's own. It is checked once."""
        if self._secret is None and self.refusal is None:
            with undisturbed():
                self._secret = user_key.user_key(b"woven code")
                self.refusal = "" if self._secret is None else self._check_folder()
        return self.refusal is None

    def _check_folder(self) -> str | None:
        """Create the folder, or check its owner and permissions; return the reason not to use it, or None."""
        try:
            os.makedirs(self._top, mode=0o700, exist_ok=True)
            os.close(user_key.open_own_folder(self._top))
        except user_key.UnsafePlaceError as error:
            return (
                f"the folder of woven code {self._top} is not used: {error}; make it your own with mode 0700"
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
        temporary = f"{file}.{unpatched.getpid()}.{unpatched.get_ident()}"
        with open(temporary, "wb") as stream:
            stream.write(data)
        os.replace(temporary, file)

    def _place(self, module: str, path: str, conditions: Sequence[object]) -> str:
        rules = _imp.source_hash(1, repr((self._key, *conditions)).encode("utf-8", "surrogateescape")).hex()
        name = _imp.source_hash(2, f"{module}\0{path}".encode("utf-8", "surrogateescape")).hex()
        return os.path.join(self._top, rules, name)


def state_of(path: str) -> State | None:
    """Return the state of a source; None if it can't be read."""
    try:
        with open(path, "rb", buffering=0) as stream:
            data = stream.read()
    except (OSError, ValueError):
        return None
    return len(data), _imp.source_hash(3, data)


def is_of_source(code: CodeType, path: str) -> bool:
    """Return whether the code that Python loaded is that of the source as it is now.

    Python identifies a source by size and whole seconds, and can be told not to look at the source at all. Bytecode that was
    written after the last change of the source is trusted. Otherwise the source is compiled and compared.
    """
    try:
        cached = os.stat(cache_from_source(path))
    except (OSError, NotImplementedError):
        return True
    try:
        if cached.st_mtime_ns > os.stat(path).st_ctime_ns + _TICK:
            return True
        with open(path, "rb") as stream, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python has given them already, when it compiled the source
            return compile(stream.read(), path, "exec", dont_inherit=True) == code
    except (OSError, ValueError, SyntaxError):
        return False


def _drop_old(top: str, current: str) -> None:
    """Remove the folders of other rules, versions and projects whose entries nobody has used for a month."""
    limit = unpatched.time_ns() / 1e9 - _AGE
    with os.scandir(top) as entries:
        folders = [
            entry for entry in entries if entry.path != current and entry.is_dir(follow_symlinks=False)
        ]
    for folder in folders:
        with contextlib.suppress(OSError), os.scandir(folder.path) as listing:  # another process may be at it
            files = list(listing)
            if all(max(file.stat().st_mtime, file.stat().st_atime) < limit for file in files):
                for file in files:
                    os.unlink(file.path)
                os.rmdir(folder.path)


# --- code objects as plain data ----------------------------------------------------------------------------------------


def pack(code: CodeType, number: Callable[[Any], int]) -> tuple[CodeType, Gaps, list[tuple[Any, ...]]]:
    """Replace the objects in a code object's constants by gaps, and describe them as plain data.

    Args:
        code: woven code.
        number: returns the number of a rule, which is the same in every process.

    Returns:
        The code with gaps, where they are, and the descriptions of the objects.
    """
    objects: list[tuple[Any, ...]] = []
    places: dict[int, int] = {}

    def described(value: Any) -> tuple[Any, ...] | None:
        if value is GATE:
            return ("gate",)
        if type(value) is Point:
            return ("point", _pack_point(value, number))
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
    """Return the code of an entry with its gaps filled, and the points and call sites in it.

    Args:
        entry: one with code.
        rules: the rules by number.
        door: returns the door of the HTTP client that a module defines.
    """
    objects: list[Any] = []
    points: list[Point] = []
    sites: list[Any] = []
    for kind, *rest in entry.objects:
        if kind == "gate":
            objects.append(GATE)
        elif kind == "point":
            points.append(_unpack_point(rest[0], rules, door))
            objects.append(points[-1])
        elif kind == "function":
            objects.append(getattr(gate, rest[0]))
        elif kind == "site":
            from autochron.weaving.sites import CodeSite  # lazy: most programs have none

            sites.append(CodeSite.unpacked(rest[0], rules))
            objects.append(sites[-1])
        else:
            objects.append(getattr(objects[rest[1]], rest[0]))
    assert entry.code is not None  # noqa: S101 - the caller saw to it
    return _fill(entry.code, entry.gaps, objects), points, sites


def _fill(code: CodeType, gaps: Gaps, objects: Sequence[Any]) -> CodeType:
    constants = list(code.co_consts)
    for place, filling in gaps:
        constants[place] = (
            objects[filling] if isinstance(filling, int) else _fill(constants[place], filling, objects)
        )
    return code.replace(co_consts=tuple(constants))


def _pack_point(point: Point, number: Callable[[Any], int]) -> tuple[Any, ...]:
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


def _unpack_point(plain: tuple[Any, ...], rules: Sequence[Any], door: Callable[[str], Any]) -> Point:
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

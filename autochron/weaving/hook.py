"""The import hook: weave modules as their code is loaded, and wrap targets without code once a module has run.

`SourceLoader.get_code` and similar methods are replaced in place. Not a finder on the meta path: replaced methods compose
with beartype, typeguard, ddtrace and wrapt in either order, and there is no `find_spec` of ours that could be re-entered.
"""

from __future__ import annotations

import importlib._bootstrap_external as external
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib._bootstrap import _call_with_frames_removed  # type: ignore[attr-defined]
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

from autochron._runtime.signals import is_interruption
from autochron._runtime.unpatched import os
from autochron.weaving.code_cache import (
    CodeCache,
    Gaps,
    State,
    WovenModule,
    is_of_source,
    pack,
    state_of,
    unpack,
)
from autochron.weaving.ledger import Ledger
from autochron.weaving.weave import Functions, Places, Undo, has_woven, pairs_of, weave_code, weave_functions

if TYPE_CHECKING:
    from autochron.weaving.binding import Binding

_EXECUTE = external._LoaderBasics.exec_module  # type: ignore[attr-defined]  # noqa: SLF001

_WAITING = 256
"""Most modules that may be loading at once, one inside another."""

_IMPORTLIB = "<frozen importlib._bootstrap_external>"
"""The file name in the code of our loader methods. Python removes frames with this name from tracebacks of imports."""


class Planner(Protocol):
    """Knows which definitions and call sites of a module are to be woven."""

    def concerns(self, module: str, file: str | None) -> bool:
        """Return whether a rule may match in a module. Called for every module, so it must be cheap."""

    def places(self, module: str, file: str | None, code: CodeType) -> Places:
        """Return the definitions of a module that rules fit."""

    def bindings(self, module: str, code: CodeType) -> Sequence[Binding]:
        """Return the call sites of a module that rules fit. Called after `places`."""

    def fingerprint(self, module: str, file: str) -> tuple[object, ...]:
        """Return the conditions besides rules and source that a module's places depend on."""

    def rules_in_order(self) -> Sequence[Any]:
        """Return all rules in force, in an order that is the same in every process."""

    def door(self, module: str) -> Any:
        """Return the door of the HTTP client that a module defines; None if it defines none."""

    def notes(self, module: str) -> dict[str, Any]:
        """Return what `places` has noted about a module, as plain data for the code cache."""

    def recall(self, module: str, file: str, notes: dict[str, Any]) -> None:
        """Restore what `places` had noted about a module, from the code cache."""

    def executed(self, module: ModuleType) -> None:
        """Weave what is left once a module has run."""


class Progress(Protocol):
    """Reports to the user that weaving takes a while."""

    def begin(self, module: str, code: CodeType) -> None:
        """Note that the weaving of a module begins."""

    def end(self) -> None:
        """Note that the weaving of the module has ended."""


class _PendingModule(Struct, frozen=True):
    """A module in which rules may match, and that has no entry in the code cache."""

    name: str
    file: str | None
    cache: CodeCache | None
    """Where its entry is to be written; None if none is to be."""
    conditions: Sequence[object]
    """The planner's fingerprint of the module."""
    state: State | None
    """The state of its source before its code was loaded."""


class _LoadedModule(Struct, frozen=True):
    """A module whose code was woven as it was loaded."""

    name: str
    file: str
    code: CodeType
    original: CodeType | None
    """The code before weaving; None if it can be compiled again from the file, as long as that is in this state."""
    state: State | None


class Hook:
    """The import hook of one planner.

    Attributes:
        cache: the code cache; None if there is none.
        progress: notified about each module that is woven anew, because the cache has no entry of it.
        on_executed: called with the name of each module that has run, whether rules match in it or not.
        seen_files: the files of loaded modules in which rules may match, and whether anything in them is woven.
        replace_code: returns the code to weave in place of a file's own. It needs a cache of its own, because an entry has
            the code of a module.
    """

    def __init__(self, planner: Planner, ledger: Ledger, cache: CodeCache | None = None) -> None:
        self._planner = planner
        self._ledger = ledger
        self.cache = cache
        self._is_blind = False
        self.progress: Progress | None = None
        self.on_executed: Callable[[str], None] | None = None
        self.seen_files: dict[str, bool] = {}
        self.replace_code: Callable[[str, CodeType], CodeType] | None = None
        self._awaiting_run: dict[int, CodeType] = {}
        """Code objects that `get_code` returned and that have not run yet, by id."""
        self._loaded: list[_LoadedModule] = []
        self._undo: list[Callable[[], None]] = []
        self._unweave: list[Undo] = []

    def install(self) -> Callable[[], None]:
        """Replace the loaders' methods, and return `uninstall`."""
        get_code = self._wrap_get_code
        execute = self._wrap_execute
        self._replace(external.SourceLoader, "get_code", get_code)
        self._replace(external.SourcelessFileLoader, "get_code", get_code)
        self._replace(
            external._LoaderBasics,  # type: ignore[attr-defined]  # noqa: SLF001
            "exec_module",
            execute,
        )
        self._replace(external.ExtensionFileLoader, "exec_module", execute)
        # If zipimport were imported only later, its `get_code` would be missed. It is a frozen module, and imported already
        # except in embedded interpreters.
        import zipimport  # lazy: only an installed hook needs it

        self._replace(zipimport.zipimporter, "get_code", get_code)
        return self.uninstall

    def uninstall(self, functions: Functions | None = None) -> None:
        """Restore the loaders' methods and the code of every function that was woven.

        Args:
            functions: the functions of the process, if the caller has collected them already.
        """
        known_functions = functions or Functions()
        while self._undo:
            self._undo.pop()()
        while self._unweave:
            self._unweave.pop()(known_functions)
        self._unweave_loaded(known_functions)

    def _unweave_loaded(self, functions: Functions) -> None:
        """Restore the original code of the functions of modules that were woven as they were loaded."""
        originals: dict[int, CodeType] = {}
        for module in self._loaded:
            original = module.original
            if original is None and module.name in sys.modules and state_of(module.file) == module.state:
                original = _code_of(module.name, sys.modules[module.name])
            if original is not None:
                originals |= {id(woven): before for woven, before in pairs_of(module.code, original)}
        for function in functions.all() if originals else ():
            before = originals.get(id(function.__code__))
            if before is not None and before.co_freevars == function.__code__.co_freevars:
                function.__code__ = before
        self._loaded.clear()

    def weave_imported(self, name: str, module: ModuleType, functions: Functions | None = None) -> None:
        """Weave a module that had run before the hook was installed.

        Args:
            name: the module's name.
            module: the module.
            functions: the functions of the process, if the caller has collected them for several modules.
        """
        file = getattr(module, "__file__", None)
        if not self._planner.concerns(name, file):
            return
        code = _code_of(name, module)
        if code is not None:
            places = self._planner.places(name, file, code)
            bindings = self._planner.bindings(name, code)
            if places or bindings:
                self._unweave.append(weave_functions(name, places, self._ledger, bindings, functions))
            if bindings:
                _refuse_unbound(code, bindings, self._ledger)
        self._planner.executed(module)

    def weave(self, name: str, file: str | None, code: CodeType, *, keeps: bool = True) -> CodeType:
        """Return the woven code of a module or program that is about to run; the code itself if it can't be woven.

        Args:
            name: the module's name.
            file: its file; None if there is none.
            code: its code.
            keeps: whether the code cache may be used. False for code that may differ from what the file has.
        """
        cache = self.cache if keeps and file is not None and os.path.isfile(file) else None
        result = self._read_cache(name, file, cache)
        if isinstance(result, CodeType):
            return result
        replaced = self._replaced_code(file, code) if keeps else code
        return replaced if result is None else self._weave_and_keep(result, replaced, code)

    def _read_cache(
        self, name: str, file: str | None, cache: CodeCache | None
    ) -> CodeType | _PendingModule | None:
        """Return the woven code that the cache has, a pending module if it has none, or None if no rule may match."""
        if not self._planner.concerns(name, file):
            return None
        state = None if cache is None or file is None else state_of(file)
        if cache is None or file is None or state is None:
            return _PendingModule(name, file, None, (), None)
        conditions = self._planner.fingerprint(name, file)
        entry = cache.read(name, file, conditions, state)
        if entry is not None:
            try:
                woven = self._restore(name, file, entry, state)
            except Exception as error:  # not what we wrote: made anew
                if is_interruption(error):
                    raise
            else:
                self.seen_files[file] = entry.code is not None
                return woven
        return _PendingModule(name, file, cache, conditions, state)

    def _replaced_code(self, file: str | None, code: CodeType) -> CodeType:
        return code if self.replace_code is None or file is None else self.replace_code(file, code)

    def _weave_and_keep(self, pending: _PendingModule, code: CodeType, loaded: CodeType) -> CodeType:
        """Weave a module and write the result to the cache.

        Args:
            pending: the module.
            code: the code to weave.
            loaded: the code that Python loaded; another one if `replace_code` replaced it.
        """
        if pending.cache is None:
            return self._weave(pending, code)
        count = len(self._ledger)
        if self.progress is not None:
            self.progress.begin(pending.name, code)
        try:
            self._is_blind = False
            woven = self._weave(pending, code)
            if self._is_blind:
                pass  # the next process may compile the source with columns
            elif is_of_source(loaded, str(pending.file)):
                self._write_cache(pending.cache, pending, None if woven is loaded else woven, count)
            else:
                reason = f"Python runs bytecode that does not match {pending.file}; remove the __pycache__ beside it"
                self._ledger.refuse(pending.name, reason, "stale-bytecode")
        finally:
            if self.progress is not None:
                self.progress.end()
        return woven

    def _weave(self, pending: _PendingModule, code: CodeType) -> CodeType:
        woven = self._try_to_weave(pending.name, pending.file, code)
        self.seen_files[code.co_filename] = woven is not code
        if woven is not code:
            # Not kept if the source still has it: it would take as much memory again, and is rarely used.
            original = code if pending.state is None else None
            self._loaded.append(
                _LoadedModule(pending.name, str(pending.file), woven, original, pending.state)
            )
        return woven

    def _try_to_weave(self, name: str, file: str | None, code: CodeType) -> CodeType:
        try:
            places = self._planner.places(name, file, code)
            bindings = self._planner.bindings(name, code)
            if bindings:
                from autochron.weaving.binding import (
                    bind_calls,  # lazy: with the first rule for a call that fits
                )

                original, code = code, bind_calls(code, bindings, self._ledger)
                self._is_blind = _refuse_unbound(original, bindings, self._ledger)
            return weave_code(code, name, places, self._ledger) if places else code
        except RecursionError as error:  # pragma: no cover - a module nested too deeply to walk
            self._ledger.refuse(name, f"its code could not be walked: {error}")
            return code

    # --- what was woven before ------------------------------------------------------------------------------------------

    def _write_cache(
        self, cache: CodeCache, pending: _PendingModule, woven: CodeType | None, count: int
    ) -> None:
        notes = self._planner.notes(pending.name)
        refused = [(entry.what, entry.reason, entry.slug) for entry in self._ledger.since(count)]
        packed: tuple[CodeType | None, Gaps, list[tuple[Any, ...]]] = (None, (), [])
        if woven is not None:
            numbers = {id(rule): index for index, rule in enumerate(self._planner.rules_in_order())}
            packed = pack(woven, lambda rule: numbers[id(rule)])
        assert pending.state is not None  # noqa: S101 - there is a cache
        cache.write(
            pending.name,
            str(pending.file),
            pending.conditions,
            pending.state,
            WovenModule(notes, refused, *packed),
        )

    def _restore(self, name: str, file: str, entry: WovenModule, state: State) -> CodeType | None:
        """Return the code of a cache entry, and restore what planner and ledger knew about the module."""
        self._planner.recall(name, file, entry.notes)
        for label, reason, slug in entry.ledger:
            self._ledger.refuse(label, reason, slug)
        if entry.code is None:
            return None
        code, points, sites = unpack(entry, self._planner.rules_in_order(), self._planner.door)
        for point in points:
            self._ledger.woven(point)
        for site in sites:
            self._ledger.bound(site)
        self._loaded.append(_LoadedModule(name, file, code, None, state))
        return code

    def _replace(self, owner: Any, name: str, wrap: Callable[[Any], Any]) -> None:
        original = owner.__dict__[name]
        replacement = wrap(original)
        replacement.__code__ = replacement.__code__.replace(co_filename=_IMPORTLIB)
        replacement.__name__, replacement.__qualname__ = original.__name__, original.__qualname__
        setattr(owner, name, replacement)

        def undo() -> None:
            if owner.__dict__.get(name) is replacement:
                setattr(owner, name, original)
            else:
                # Another tool has wrapped it since, so our method must stay. From now on it does nothing.
                self._planner = _IDLE

        self._undo.append(undo)

    def _wrap_get_code(self, original: Any) -> Any:
        pristine = _is_importlib_function(original)

        # An error that Python raises while it loads passes through no other frame of ours. Tracebacks omit this one.
        def get_code(loader: Any, fullname: str) -> Any:
            keeps = pristine and _loads_plainly(loader)
            result = self._read_cache(fullname, loader.path, self.cache) if keeps else None
            if isinstance(result, CodeType):
                return self._await_run(result)
            code = original(loader, fullname)
            if code is None:
                return None
            if not keeps:
                result = self._read_cache(fullname, _file_of(loader, code), None)
            replaced = self._replaced_code(loader.path, code) if keeps else code
            return self._await_run(
                self._weave_and_keep(result, replaced, code)
                if isinstance(result, _PendingModule)
                else replaced
            )

        return get_code

    def _await_run(self, code: CodeType) -> CodeType:
        """Note that a loader is about to run this code, which needs no more weaving."""
        if len(self._awaiting_run) >= _WAITING:  # a tool calls `get_code` and does not run the result
            self._awaiting_run.clear()
        self._awaiting_run[id(code)] = code
        return code

    def _weave_unseen(self, loader: Any, name: str, code: CodeType) -> CodeType:
        """Return the code to run in `exec_module`, woven if our `get_code` did not return it.

        A loader may have a `get_code` of its own, or change what ours returned.
        """
        if self._awaiting_run.pop(id(code), None) is code:
            return code
        file = _file_of(loader, code)
        if not self._planner.concerns(name, file) or has_woven(code):
            return code
        return self.weave(name, file, code, keeps=False)

    def _wrap_execute(self, original: Any) -> Any:
        checks = original is _EXECUTE

        def exec_module(loader: Any, module: ModuleType) -> None:
            name = module.__name__
            if checks:  # as in `importlib._bootstrap_external._LoaderBasics`
                code = loader.get_code(name)
                if code is None:
                    raise ImportError(f"cannot load module {name!r} when get_code() returns None")
                _call_with_frames_removed(exec, self._weave_unseen(loader, name, code), vars(module))
            else:
                original(loader, module)
            if self.on_executed is not None:
                self.on_executed(name)
            if self._planner.concerns(name, getattr(module, "__file__", None)):
                self._planner.executed(sys.modules.get(name, module))

        return exec_module


_STEPS = ("get_data", "path_stats", "source_to_code", "cache_from_source", "_cache_bytecode", "set_data")
"""The methods by which Python's own loader gets code. A tool may have replaced one, on a loader or on its class."""


def _loads_plainly(loader: Any) -> bool:
    """Return whether a loader returns the code of the file as it is. Others may transform it first."""
    if type(loader) is not external.SourceFileLoader or len(vars(loader)) > len(("name", "path")):
        return False
    return all(_is_importlib_function(getattr(type(loader), step, None)) for step in _STEPS)


def _is_importlib_function(function: Any) -> bool:
    """Return whether a function is importlib's own, and not a tool's replacement; None is a method that does not exist."""
    return function is None or getattr(function, "__globals__", None) is vars(external)


def _file_of(loader: Any, code: CodeType) -> str:
    """Return the file of a module. The code alone does not say it: bytecode without source names the file it came from."""
    if isinstance(loader, external.SourcelessFileLoader):
        return str(loader.path)
    archive = getattr(loader, "archive", None)
    if isinstance(archive, str) and not code.co_filename.startswith(os.path.join(archive, "")):
        return os.path.join(archive, os.path.basename(code.co_filename))
    return code.co_filename


def _refuse_unbound(code: CodeType, bindings: Sequence[Binding], ledger: Ledger) -> bool:
    from autochron.weaving.binding import refuse_unbound  # lazy: as above

    return refuse_unbound(code, bindings, ledger)


class _IdlePlanner:
    """A planner for which no rule matches anywhere."""

    def concerns(self, module: str, file: str | None) -> bool:
        return False

    def places(self, module: str, file: str | None, code: CodeType) -> Places:
        return {}

    def bindings(self, module: str, code: CodeType) -> Sequence[Binding]:
        return ()

    def fingerprint(self, module: str, file: str) -> tuple[object, ...]:
        return ()

    def rules_in_order(self) -> Sequence[Any]:
        return ()

    def door(self, module: str) -> Any:
        return None

    def notes(self, module: str) -> dict[str, Any]:
        return {}

    def recall(self, module: str, file: str, notes: dict[str, Any]) -> None:
        return None

    def executed(self, module: ModuleType) -> None:
        return None


_IDLE = _IdlePlanner()


def _code_of(name: str, module: ModuleType) -> CodeType | None:
    """Return the code that a module ran, or equal code; None if its loader or source does not provide it."""
    loader = getattr(module, "__loader__", None)
    get_code = getattr(loader, "get_code", None)
    if get_code is not None:
        try:
            code = get_code(name)
        except (ImportError, OSError, SyntaxError):
            code = None
        if isinstance(code, CodeType):
            return code
    file = getattr(module, "__file__", None)
    if not file or not file.endswith(".py"):
        return None
    try:
        with open(file, "rb") as source, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python has given them already, when it was imported
            return compile(source.read(), file, "exec", dont_inherit=True)
    except (OSError, SyntaxError, ValueError):
        return None

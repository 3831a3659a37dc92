"""The import hook: weave modules as their code is loaded, and once they have run what has no code.

`SourceLoader.get_code` and its like are changed in place, rather than a finder put on the meta path: that composes with
beartype, typeguard, ddtrace and wrapt in either order, and no `find_spec` of ours is ever re-entered.
"""

from __future__ import annotations

import importlib._bootstrap_external as external
import sys
from collections.abc import Callable, Sequence
from importlib._bootstrap import _call_with_frames_removed  # type: ignore[attr-defined]
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

from autochron._runtime.signals import is_interruption
from autochron._runtime.unpatched import os
from autochron.weaving.code_cache import Gaps, Plans, State, WovenModule, is_of_source, pack, state_of, unpack
from autochron.weaving.ledger import Ledger
from autochron.weaving.weave import Functions, Places, Undo, has_woven, pairs_of, weave_code, weave_functions

if TYPE_CHECKING:
    from autochron.weaving.binding import Binding

_EXECUTE = external._LoaderBasics.exec_module  # type: ignore[attr-defined]  # noqa: SLF001

_WAITING = 256
"""How many modules may be loading at once, one inside another."""

_IMPORTLIB = "<frozen importlib._bootstrap_external>"
"""What our frames in an import say for a file: so Python takes them out of tracebacks, as it does with its own."""


class Planner(Protocol):
    """Who knows what is to be woven where."""

    def concerns(self, module: str, file: str | None) -> bool:
        """Return, cheaply, whether anything in a module could be meant."""

    def places(self, module: str, file: str | None, code: CodeType) -> Places:
        """Return the definitions of a module that rules fit."""

    def bindings(self, module: str, code: CodeType) -> Sequence[Binding]:
        """Return the call sites of a module that rules fit; asked after `places`."""

    def fingerprint(self, module: str, file: str) -> tuple[object, ...]:
        """Return what besides rules and source decides what a module's places are."""

    def rules_in_order(self) -> Sequence[Any]:
        """Return all rules in force, in an order that is the same in every process."""

    def door(self, module: str) -> Any:
        """Return the door of an HTTP client that a module defines, or None."""

    def notes(self, module: str) -> dict[str, Any]:
        """Return what asking for `places` made known of a module, as plain data."""

    def recall(self, module: str, file: str, notes: dict[str, Any]) -> None:
        """Know that again."""

    def executed(self, module: ModuleType) -> None:
        """Do what remains once a module has run."""


class Progress(Protocol):
    """Who tells people that looking for what rules mean takes a while."""

    def begin(self, module: str, code: CodeType) -> None:
        """Hear that a module is looked through."""

    def end(self) -> None:
        """Hear that it was."""


class _Sought(Struct, frozen=True):
    """A module that rules may mean something to, and of which no plan was kept."""

    name: str
    file: str | None
    plans: Plans | None
    """Where a plan is to be kept; None for nowhere."""
    more: Sequence[object]
    state: State | None
    """What its source was before its code was loaded."""


class _Woven(Struct, frozen=True):
    """A module whose code was woven as it was loaded."""

    name: str
    file: str
    code: CodeType
    original: CodeType | None
    """What it was before; None where it can be had again from the file, as long as that is in this state."""
    state: State | None


class Hook:
    """The hook of one planner: `install()` returns the undo."""

    def __init__(self, planner: Planner, ledger: Ledger, plans: Plans | None = None) -> None:
        self._planner = planner
        self._ledger = ledger
        self.plans = plans
        self._is_blind = False
        self.progress: Progress | None = None
        """Told of each module that is looked through, because no plan of it was kept."""
        self.on_executed: Callable[[str], None] | None = None
        """Told of each module that has run, whatever rules mean to it."""
        self.passed: dict[str, bool] = {}
        """The files whose code came by, of modules that rules may mean something to; and whether something in it is woven."""
        self.instead: Callable[[str, CodeType], CodeType] | None = None
        """Returns other code for what stands in a file, before it is woven. Then there are other plans: what is kept of a
        module is its code."""
        self._given: dict[int, CodeType] = {}
        """What `get_code` gave and is still to be run."""
        self._loaded: list[_Woven] = []
        self._undo: list[Callable[[], None]] = []
        self._unweave: list[Undo] = []

    def install(self) -> Callable[[], None]:
        """Change the loaders."""
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
        # Frozen, and there already but for embedded Pythons: were it imported later, its own `get_code` would be missed.
        import zipimport  # lazy: as above

        self._replace(zipimport.zipimporter, "get_code", get_code)
        return self.uninstall

    def uninstall(self, functions: Functions | None = None) -> None:
        """Put the loaders back, and every function that was woven, in place or as its module was loaded."""
        found = functions or Functions()
        while self._undo:
            self._undo.pop()()
        while self._unweave:
            self._unweave.pop()(found)
        self._unweave_loaded(found)

    def _unweave_loaded(self, functions: Functions) -> None:
        """Restore the code of their source in the functions of modules that were woven as they were loaded."""
        originals: dict[int, CodeType] = {}
        for each in self._loaded:
            original = each.original
            if original is None and each.name in sys.modules and state_of(each.file) == each.state:
                original = _code_of(each.name, sys.modules[each.name])
            if original is not None:
                originals |= {id(woven): before for woven, before in pairs_of(each.code, original)}
        for function in functions.all() if originals else ():
            before = originals.get(id(function.__code__))
            if before is not None and before.co_freevars == function.__code__.co_freevars:
                function.__code__ = before
        self._loaded.clear()

    def weave_imported(self, name: str, module: ModuleType, functions: Functions | None = None) -> None:
        """Weave a module that ran before the hook was there; `functions` is what was found for several of them."""
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
        """Weave the code of a program that is about to run; whatever goes wrong, there is code to run.

        What may be more than what stands in the file is neither kept nor taken from what was: `keeps` is false.
        """
        plans = self.plans if keeps and file is not None and os.path.isfile(file) else None
        found = self._before(name, file, plans)
        if isinstance(found, CodeType):
            return found
        given = self._instead(file, code) if keeps else code
        return given if found is None else self._after(found, given, code)

    def _before(self, name: str, file: str | None, plans: Plans | None) -> CodeType | _Sought | None:
        """Return the woven code that was kept, what is still to be done with the code once it is there, or None for none."""
        if not self._planner.concerns(name, file):
            return None
        state = None if plans is None or file is None else state_of(file)
        if plans is None or file is None or state is None:
            return _Sought(name, file, None, (), None)
        more = self._planner.fingerprint(name, file)
        entry = plans.read(name, file, more, state)
        if entry is not None:
            try:
                woven = self._recalled(name, file, entry, state)
            except Exception as error:  # not what we wrote: made anew
                if is_interruption(error):
                    raise
            else:
                self.passed[file] = entry.code is not None
                return woven
        return _Sought(name, file, plans, more, state)

    def _instead(self, file: str | None, code: CodeType) -> CodeType:
        return code if self.instead is None or file is None else self.instead(file, code)

    def _after(self, sought: _Sought, code: CodeType, loaded: CodeType) -> CodeType:
        """Weave, and keep what came of it; `loaded` is what Python loaded."""
        if sought.plans is None:
            return self._weave(sought, code)
        count = len(self._ledger)
        if self.progress is not None:
            self.progress.begin(sought.name, code)
        try:
            self._is_blind = False
            woven = self._weave(sought, code)
            if self._is_blind:
                pass  # what was compiled without columns may be compiled with them next time
            elif is_of_source(loaded, str(sought.file)):
                self._keep(sought.plans, sought, None if woven is loaded else woven, count)
            else:
                reason = f"Python runs bytecode of it that is not of {sought.file} as it is now; remove its __pycache__"
                self._ledger.refuse(sought.name, reason, "stale-bytecode")
        finally:
            if self.progress is not None:
                self.progress.end()
        return woven

    def _weave(self, sought: _Sought, code: CodeType) -> CodeType:
        woven = self._try_to_weave(sought.name, sought.file, code)
        self.passed[code.co_filename] = woven is not code
        if woven is not code:
            # Not kept for all: it is as large again, and mostly never asked for.
            original = code if sought.state is None else None
            self._loaded.append(_Woven(sought.name, str(sought.file), woven, original, sought.state))
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

    def _keep(self, plans: Plans, sought: _Sought, woven: CodeType | None, count: int) -> None:
        notes = self._planner.notes(sought.name)
        refused = [(entry.what, entry.reason, entry.slug) for entry in self._ledger.since(count)]
        packed: tuple[CodeType | None, Gaps, list[tuple[Any, ...]]] = (None, (), [])
        if woven is not None:
            numbers = {id(rule): index for index, rule in enumerate(self._planner.rules_in_order())}
            packed = pack(woven, lambda rule: numbers[id(rule)])
        assert sought.state is not None  # noqa: S101 - there are plans
        plans.write(
            sought.name, str(sought.file), sought.more, sought.state, WovenModule(notes, refused, *packed)
        )

    def _recalled(self, name: str, file: str, entry: WovenModule, state: State) -> CodeType | None:
        """Return the code of an entry, and make known what was known when it was made."""
        self._planner.recall(name, file, entry.notes)
        for what, reason, slug in entry.ledger:
            self._ledger.refuse(what, reason, slug)
        if entry.code is None:
            return None
        code, points, sites = unpack(entry, self._planner.rules_in_order(), self._planner.door)
        for point in points:
            self._ledger.woven(point)
        for site in sites:
            self._ledger.bound(site)
        self._loaded.append(_Woven(name, file, code, None, state))
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
                # Someone has wrapped it since: stay below and hand through.
                self._planner = _NOTHING

        self._undo.append(undo)

    def _wrap_get_code(self, original: Any) -> Any:
        pristine = _is_python_s(original)

        # What Python raises while it loads passes through this frame only, which tracebacks leave out with its own.
        def get_code(loader: Any, fullname: str) -> Any:
            keeps = pristine and _loads_plainly(loader)
            found = self._before(fullname, loader.path, self.plans) if keeps else None
            if isinstance(found, CodeType):
                return self._giving(found)
            code = original(loader, fullname)
            if code is None:
                return None
            if not keeps:
                found = self._before(fullname, _file_of(loader, code), None)
            given = self._instead(loader.path, code) if keeps else code
            return self._giving(self._after(found, given, code) if isinstance(found, _Sought) else given)

        return get_code

    def _giving(self, code: CodeType) -> CodeType:
        if len(self._given) >= _WAITING:  # asked for by someone who doesn't run it
            self._given.clear()
        self._given[id(code)] = code
        return code

    def _checked(self, loader: Any, name: str, code: CodeType) -> CodeType:
        """Weave what is about to run in place of what `get_code` gave, or was never asked for: a loader may have its own."""
        if self._given.pop(id(code), None) is code:
            return code
        file = _file_of(loader, code)
        if not self._planner.concerns(name, file) or has_woven(code):
            return code
        return self.weave(name, file, code, keeps=False)

    def _wrap_execute(self, original: Any) -> Any:
        checks = original is _EXECUTE

        def exec_module(loader: Any, module: ModuleType) -> None:
            name = module.__name__
            if checks:  # what Python's own does
                code = loader.get_code(name)
                if code is None:
                    raise ImportError(f"cannot load module {name!r} when get_code() returns None")
                _call_with_frames_removed(exec, self._checked(loader, name, code), vars(module))
            else:
                original(loader, module)
            if self.on_executed is not None:
                self.on_executed(name)
            if self._planner.concerns(name, getattr(module, "__file__", None)):
                self._planner.executed(sys.modules.get(name, module))

        return exec_module


_STEPS = ("get_data", "path_stats", "source_to_code", "cache_from_source", "_cache_bytecode", "set_data")
"""What Python's own loader gets code by; a tool may have replaced one, on the loader or on its class."""


def _loads_plainly(loader: Any) -> bool:
    """Return whether a loader gives the code that stands in the file: others may make something of it first."""
    if type(loader) is not external.SourceFileLoader or len(vars(loader)) > len(("name", "path")):
        return False
    return all(_is_python_s(getattr(type(loader), step, None)) for step in _STEPS)


def _is_python_s(function: Any) -> bool:
    """Distinguish a function of importlib's own from what a tool has put in its place, also before this was imported."""
    return function is None or getattr(function, "__globals__", None) is vars(external)


def _file_of(loader: Any, code: CodeType) -> str:
    """Return where a module lies: bytecode without its source still names the file that it was compiled from."""
    if isinstance(loader, external.SourcelessFileLoader):
        return str(loader.path)
    archive = getattr(loader, "archive", None)
    if isinstance(archive, str) and not code.co_filename.startswith(os.path.join(archive, "")):
        return os.path.join(archive, os.path.basename(code.co_filename))
    return code.co_filename


def _refuse_unbound(code: CodeType, bindings: Sequence[Binding], ledger: Ledger) -> bool:
    from autochron.weaving.binding import refuse_unbound  # lazy: as above

    return refuse_unbound(code, bindings, ledger)


class _Nothing:
    """A planner that wants nothing."""

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


_NOTHING = _Nothing()


def _code_of(name: str, module: ModuleType) -> CodeType | None:
    """Return the code that a module ran, or code equal to it."""
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
        with open(file, "rb") as source:
            return compile(source.read(), file, "exec", dont_inherit=True)
    except (OSError, SyntaxError, ValueError):
        return None

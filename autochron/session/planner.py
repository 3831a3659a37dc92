"""From rules to what is woven where: the planner of the import hook."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from types import CodeType, FunctionType, ModuleType
from typing import Any

from autochron.crossing.processes import MODULES as PROCESS_MODULES
from autochron.matching import Matcher
from autochron.matching.matcher import Absent, Found
from autochron.model import BoundaryRule, Decorated, Http, Rules, Target, TraceRule
from autochron.rules import pack_index, with_imported
from autochron.session.project import Project
from autochron.weaving.ledger import Ledger
from autochron.weaving.weave import Mark, Places, weave_function

TRANSPORTS = {
    "httpx._client": frozenset({"Client.send", "AsyncClient.send"}),
    "httpx2._client": frozenset({"Client.send", "AsyncClient.send"}),
}
"""The doors of HTTP clients: every request goes through one of these."""

_SPAWNING = frozenset(
    {
        "concurrent.futures.thread",
        "asyncio.base_events",
        "uvloop",
        "trio._core._run",
        "multiprocessing.process",
        *PROCESS_MODULES,
    }
)
"""Modules whose pools and event loops carry lanes on, or whose processes are told of."""

_OTHER_CLIENTS = ("requests", "aiohttp", "urllib3")


class RulePlanner:
    """Applies rules to modules as they come; takes up packs as their libraries are imported."""

    def __init__(self, rules: Rules, project: Project, ledger: Ledger) -> None:
        self.rules = rules
        self.project = project
        self.ledger = ledger
        self.aliases: dict[str, tuple[str, ...]] = {}
        """Module name to its other names: `__main__` to `agent`."""
        self.matched: dict[str, int] = {}
        """Rule id to the number of definitions that it fits."""
        self.on_import: Callable[[str], None] | None = None
        """Told of modules that have just run and that threads, pools or tasks come from."""
        self._told: set[str] = set()
        self.undo: list[Any] = []
        """What takes back the weaving of single objects."""
        self._absent: dict[str, list[Absent]] = {}
        self._decorators: set[str] = set()
        self._waiting = (
            {module.partition(".")[0]: name for name, modules in pack_index().items() for module in modules}
            if rules.auto
            else {}
        )
        self._http = tuple(
            rule
            for rule in (*rules.boundaries, *(rule for pack in rules.packs for rule in pack.boundaries))
            if isinstance(rule.selector, Http)
        )
        self._matcher = Matcher(rules)

    # --- asked by the hook -----------------------------------------------------------------------------------------

    def concerns(self, module: str, file: str | None) -> bool:
        """Tell whether anything in a module could be meant."""
        top = module.partition(".")[0]
        if top in self._waiting:
            del self._waiting[top]
            self.rules = with_imported(self.rules, module)
            self._matcher = Matcher(self.rules)
        if module in TRANSPORTS or module in _SPAWNING:
            return True
        if self._http and module in _OTHER_CLIENTS:
            reason = "its requests are not seen by `http` rules, which reach httpx and httpx2"
            self.ledger.refuse(module, reason, "http-client")
        is_project = file is not None and self.project.owns(file)
        names = (module, *self.aliases.get(module, ()))
        return any(self._matcher.may_match(name, is_project=is_project) for name in names)

    def places(self, module: str, file: str | None, code: CodeType) -> Places:
        """Give the definitions of a module that rules fit."""
        found = self._find(module, file, code)
        for entry in found.ledger:
            self.ledger.refuse(entry.what, entry.reason, entry.slug)
        self._absent[module] = list(found.absent)
        self._decorators |= found.decorators
        rules: dict[tuple[str, int], list[BoundaryRule]] = {}
        for match in found.matches:
            rules.setdefault((match.qualname, match.firstlineno), []).append(match.rule)
            self.matched[match.rule.id] = self.matched.get(match.rule.id, 0) + 1
        for trace in found.traces:
            self.ledger.refuse(
                str(trace.rule.target), "a trace for each call is not in this release", "trace-rule"
            )
        marks = {place: Mark(tuple(each)) for place, each in rules.items()}
        if module in TRANSPORTS:
            marks |= self._doors(module, code)
        return marks

    def executed(self, module: ModuleType) -> None:
        """Weave the targets of a module that have no code of their own there, or say why not."""
        if module.__name__ in _SPAWNING and self.on_import is not None:
            self.on_import(module.__name__)
        for absent in self._absent.pop(module.__name__, ()):
            self._weave_absent(module, absent)

    # --- at the end ----------------------------------------------------------------------------------------------------

    def unmatched(self) -> list[tuple[BoundaryRule, str]]:
        """Give the project's rules that fitted nothing, each with what may be the reason."""
        return [
            (rule, self._why(rule))
            for rule in self.rules.boundaries
            if rule.id not in self.matched
            and rule.id not in self._told
            and not isinstance(rule.selector, Http)
        ]

    # --- inside --------------------------------------------------------------------------------------------------------

    def _find(self, module: str, file: str | None, code: CodeType) -> Found:
        is_project = file is not None and self.project.owns(file)
        return self._matcher.find(
            module,
            code,
            lambda: _read(code.co_filename),
            is_project=is_project,
            aliases=self.aliases.get(module, ()),
        )

    def _doors(self, module: str, code: CodeType) -> dict[tuple[str, int], Mark]:
        from autochron.matching import definitions  # lazy: with the first HTTP client

        wanted = TRANSPORTS[module]
        for rule in self._http:
            self.matched[rule.id] = self.matched.get(rule.id, 0) + 1
        return {
            (name, inner.co_firstlineno): Mark(self._http, transport=True)
            for name, inner in definitions(code)
            if name in wanted
        }

    def _weave_absent(self, module: ModuleType, absent: Absent) -> None:
        rule = absent.rule
        if isinstance(rule, TraceRule) or not isinstance(rule.selector, Target):
            return
        target = rule.selector
        owner, name = _owner(module, target.qualname)
        if owner is None:
            self._told.add(rule.id)
            self.ledger.refuse(str(target), f"{rule.place}: {_no_such(absent, target)}", "no-such-target")
            return
        value = getattr(owner, name)
        mark = Mark((rule,))
        if isinstance(value, FunctionType):
            undo = weave_function(value, mark, self.ledger)
        else:
            undo = self._wrap(owner, name, value, target, rule)
        if undo is not None:
            self.matched[rule.id] = self.matched.get(rule.id, 0) + 1
            self.undo.append(undo)

    def _wrap(self, owner: Any, name: str, value: Any, target: Target, rule: BoundaryRule) -> Any:
        from autochron.weaving import wrapping  # lazy: it imports wrapt

        if not callable(value):
            self.ledger.refuse(str(target), f"{rule.place}: it is not callable", "not-callable")
            return None
        point = wrapping.point_for(value, target.module, target.qualname, (rule,))
        try:
            undo = wrapping.wrap_attribute(owner, name, point)
        except (TypeError, AttributeError) as error:
            self.ledger.refuse(str(target), f"{rule.place}: it can't be replaced: {error}")
            return None
        self.ledger.woven(point)
        return undo

    def _why(self, rule: BoundaryRule) -> str:
        selector = rule.selector
        for absent in (each for those in self._absent.values() for each in those):
            if absent.rule is rule and isinstance(selector, Target):
                return _no_such(absent, selector)
        if isinstance(selector, Target) and selector.module not in sys.modules:
            names = {*sys.modules, *(name for names in self.aliases.values() for name in names)}
            from autochron.rules.nearest import nearest  # lazy: difflib

            near = nearest(names, selector.module)
            return f"module {selector.module} was not imported" + (f"; the nearest is {near}" if near else "")
        near = _nearest_decorator(selector, self._decorators) if isinstance(selector, Decorated) else None
        why = "it fits no definition in the project's modules that were imported"
        return f"{why}; the nearest decorator is {near}" if near else why


def _nearest_decorator(selector: Decorated, seen: set[str]) -> str | None:
    """Give the decorator that was meant: one of that name in a module, else the nearest."""
    ending = f".{selector.decorator.rpartition('.')[2]}"
    from autochron.rules.nearest import nearest  # lazy: difflib

    same = sorted(name for name in seen if name.endswith(ending))
    return same[0] if same else nearest(seen, selector.decorator)


def _no_such(absent: Absent, target: Target) -> str:
    near = f"; the nearest is {target.module}:{absent.nearest}" if absent.nearest else ""
    return f"there is no such definition{near}"


def _owner(module: ModuleType, qualname: str) -> tuple[Any, str]:
    """Walk to what holds the last name of a qualified name; (None, name) where it isn't there."""
    *path, name = qualname.split(".")
    owner: Any = module
    for step in path:
        owner = vars(owner).get(step) if hasattr(owner, "__dict__") else None
        if owner is None:
            return None, name
    return (owner, name) if hasattr(owner, name) else (None, name)


def _read(file: str) -> bytes | None:
    try:
        with open(file, "rb") as source:
            return source.read()
    except OSError:
        return None


def program_paths(rules: Rules, program: str | None) -> tuple[str, ...]:
    """Give the project's paths: those that the rules name, else the program's folder, else the rules' root."""
    if rules.project:
        return rules.project
    if program is not None:
        return (os.path.dirname(os.path.abspath(program)), *((rules.root,) if rules.file else ()))
    return (rules.root or os.getcwd(),)

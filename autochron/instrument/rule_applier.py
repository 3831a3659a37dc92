"""Apply rules to modules: find out what is woven where. The import hook's planner."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from autochron._runtime.unpatched import os
from autochron.crossing.processes import MODULES as PROCESS_MODULES
from autochron.http.clients import DOORS, door_of
from autochron.instrument.mark import mark_of, split_by_outcome
from autochron.instrument.passed_callables import PassedCallables
from autochron.matching.derived_classes import matcher_for
from autochron.matching.matcher import NO_MATCHES, Absent, ModuleMatches
from autochron.model import (
    BoundaryRule,
    CallSelector,
    Decorated,
    Define,
    Http,
    Rules,
    SwapRule,
    Target,
    TraceRule,
)
from autochron.project import Project, read_source
from autochron.rules.packs import pack_index, with_imported
from autochron.weaving.ledger import Ledger
from autochron.weaving.weave import Mark, Places, weave_function

if TYPE_CHECKING:
    from autochron.matching.sites import CallSite
    from autochron.weaving.binding import Binding

_SPAWNING = frozenset(
    {
        "concurrent.futures.thread",
        "asyncio.base_events",
        "concurrent.interpreters",
        "uvloop",
        "trio._core._run",
        "queue",
        "asyncio.queues",
        "multiprocessing.process",
        *PROCESS_MODULES,
    }
)
"""Modules whose pools, event loops and queues carry lanes, or whose processes get a context."""

_OTHER_CLIENTS = ("requests", "urllib3")
"""HTTP clients that `http` rules don't reach."""


class RulePlanner:
    """Applies rules to modules as they are imported, and adds packs when their libraries are imported.

    Attributes:
        rules: the rules, including packs.
        project: which files are the user's own code.
        ledger: what is woven, and what is not and why.
        aliases: other names of modules, such as `agent` of `__main__`.
        matched: number of definitions that a rule fits, by its id.
        on_import: called with the name of a module that has run and that threads, pools or tasks come from.
        watched: more modules that `on_import` is called with.
        passing: weaves callables that are passed.
        undo: functions that remove the weaving of single objects.
    """

    def __init__(self, rules: Rules, project: Project, ledger: Ledger) -> None:
        self.rules = rules
        self.project = project
        self.ledger = ledger
        self.aliases: dict[str, tuple[str, ...]] = {}
        self.matched: dict[str, int] = {}
        self.on_import: Callable[[str], None] | None = None
        self.watched: frozenset[str] = frozenset()
        self.passing = PassedCallables(ledger)
        self._fitting: set[tuple[str, Define]] = set()
        """The patterns that fit something, each with the id of its rule."""
        self._explained: set[str] = set()
        """Ids of rules without a match that the ledger explains already."""
        self.undo: list[Any] = []
        self._absent: dict[str, list[Absent]] = {}
        """By module: the targets that have no code of their own in it."""
        self._found: dict[str, ModuleMatches] = {}
        self._calls: dict[str, tuple[CallSite, ...]] = {}
        self._files: dict[str, str] = {}
        """The module of each of the project's files that were imported."""
        self._reasons: dict[str, tuple[int, str]] = {}
        """By id of a rule without a match: how many files were imported when the reason was found, and the reason."""
        self._decorators: set[str] = set()
        self._waiting: dict[str, tuple[str, ...]] = {}
        """By top-level module: the modules in it whose import takes up a pack, as long as none has been imported."""
        for module in (
            (module for modules in pack_index().values() for module in modules) if rules.auto else ()
        ):
            top = module.partition(".")[0]
            self._waiting[top] = (*self._waiting.get(top, ()), module)
        self._http = tuple(
            rule
            for rule in (*rules.boundaries, *(rule for pack in rules.packs for rule in pack.boundaries))
            if isinstance(rule.selector, Http)
        )
        self._matcher = matcher_for(rules, project)

    # --- called by the hook ---------------------------------------------------------------------------------------

    def concerns(self, module: str, file: str | None) -> bool:
        """Return whether any rule may match in a module, or a hook of ours waits for it."""
        top = module.partition(".")[0]
        if top in self._waiting:
            self._take_up_packs(top, module)
        if module in DOORS or module in _SPAWNING or module in self.watched:
            return True
        if self._http and module in _OTHER_CLIENTS:
            reason = "its requests are not seen by `http` rules, which reach httpx, httpx2, aiohttp and gRPC"
            self.ledger.refuse(module, reason, "http-client")
        is_project = file is not None and self.project.owns(file)
        if is_project and file is not None:
            self._files[file] = module
        names = (module, *self.aliases.get(module, ()))
        return any(self._matcher.may_match(name, is_project=is_project) for name in names)

    def _take_up_packs(self, top: str, module: str) -> None:
        """Add the packs that wait for a module or a package around it. `google.auth` is not what `google.genai` waits for."""
        waiting = self._waiting[top]
        left = tuple(name for name in waiting if module != name and not module.startswith(f"{name}."))
        if len(left) == len(waiting):
            return
        if left:
            self._waiting[top] = left
        else:
            del self._waiting[top]
        self.rules = with_imported(self.rules, module)
        self._matcher = matcher_for(self.rules, self.project)

    def places(self, module: str, file: str | None, code: CodeType) -> Places:
        """Return the definitions of a module that rules fit, each with its mark."""
        result = self._find(module, file, code)
        for entry in result.ledger:
            self.ledger.refuse(entry.what, entry.reason, entry.slug)
        # A package of the project may have the name of a library (`agents`). Then it doesn't lack the pack's definitions.
        is_own = file is not None and self.project.owns(file)
        self._absent[module] = [
            absent for absent in result.absent if not (is_own and _is_of_a_pack(absent.rule))
        ]
        for absent in result.absent:
            if isinstance(absent.rule, TraceRule):
                self._refuse_trace(absent.rule, absent.nearest)
        if result.calls:
            self._calls[module] = result.calls
        self._decorators |= result.decorators
        self._found[module] = result
        for rule in _rules_of(result):
            self._count(rule)
        marks = self._marks(module, result)
        if module in DOORS:
            marks |= self._doors(module, code)
        return marks

    def _marks(self, module: str, result: ModuleMatches) -> dict[tuple[str, int], Mark]:
        """Return the mark of each definition that rules of boundaries, traces or swaps fit, by name and line."""
        rules: dict[tuple[str, int], list[BoundaryRule]] = {}
        names: dict[tuple[str, int], str] = {}
        for match in result.matches:
            place = (match.code_name or match.qualname, match.firstlineno)
            rules.setdefault(place, []).append(match.rule)
            if match.code_name:
                names[place] = match.qualname
        marks = {
            place: self._mark(tuple(fitting), f"{module}:{names.get(place, place[0])}")
            for place, fitting in rules.items()
        }
        for place, name in names.items():
            marks[place].name = name
        for trace in result.traces:
            place = (trace.qualname, trace.firstlineno)
            mark = marks.setdefault(place, Mark(()))
            mark.trace = mark.trace or isinstance(trace.rule, TraceRule)
        return marks

    def fits(self, module: str, file: str, code: CodeType) -> int:
        """Return how many definitions and calls of a module rules fit, without noting anything about it."""
        if not self.concerns(module, file):
            return 0
        result = self._find(module, file, code)
        return len(result.matches) + len(result.calls)

    # --- what processes share by the cache --------------------------------------------------------------------------

    def fingerprint(self, module: str, file: str) -> tuple[object, ...]:
        """Return what decides about the places of a module besides rules and source."""
        packs = tuple(pack.name for pack in self.rules.packs)
        main = self.aliases.get("__main__", ())  # rules may name the main module so
        derived = tuple((base, *sorted(classes)) for base, classes in sorted(self._matcher.derived.items()))
        return (packs, self.aliases.get(module, ()), main, self.project.owns(file), *derived)

    def rules_in_order(self) -> Sequence[BoundaryRule]:
        """Return all rules in force, in an order that is the same in each process."""
        return (*self.rules.boundaries, *(rule for pack in self.rules.packs for rule in pack.boundaries))

    def notes(self, module: str) -> dict[str, Any]:
        """Return what `places` has noted about a module, as plain data."""
        result = self._found.pop(module, NO_MATCHES)
        numbers = {id(rule): number for number, rule in enumerate(self.rules_in_order())}
        return {
            "matched": [numbers[id(rule)] for rule in _rules_of(result)],
            "absent": [
                (numbers[id(absent.rule)], absent.nearest)
                for absent in self._absent.get(module, ())
                if id(absent.rule) in numbers
            ],
            "decorators": sorted(result.decorators),
        }

    def recall(self, module: str, file: str, notes: dict[str, Any]) -> None:
        """Note again what `notes` returned, when a module comes from the cache."""
        rules = self.rules_in_order()
        for number in notes["matched"]:
            self._count(rules[number])
        self._absent[module] = [Absent(rules[number], nearest) for number, nearest in notes["absent"]]
        self._decorators |= set(notes["decorators"])
        if module in DOORS:
            self._count_http()

    def door(self, module: str) -> Any:
        """Return the door of an HTTP client that a module defines."""
        return door_of(module) if module in DOORS else None

    def _count(self, rule: BoundaryRule) -> None:
        self.matched[rule.id] = self.matched.get(rule.id, 0) + 1
        if isinstance(rule.selector, Define):
            self._fitting.add((rule.id, rule.selector))

    def _count_http(self) -> None:
        for rule in self._http:
            self._count(rule)

    def bindings(self, module: str, code: CodeType) -> Sequence[Binding]:
        """Return the call sites of a module that rules fit. Has to be called after `places`."""
        sites = self._calls.pop(module, ())
        if not sites:
            return ()
        from autochron.weaving.binding import bindings_of  # lazy: few modules have calls that a rule fits

        return bindings_of(sites, module, code.co_filename)

    def executed(self, module: ModuleType) -> None:
        """Weave the targets of a module that have no code of their own in it, or note why that fails."""
        if (module.__name__ in _SPAWNING or module.__name__ in self.watched) and self.on_import is not None:
            self.on_import(module.__name__)
        for absent in self._absent.pop(module.__name__, ()):
            self._weave_absent(module, absent)

    # --- at the end ----------------------------------------------------------------------------------------------------

    def unmatched(self) -> list[tuple[BoundaryRule, str]]:
        """Return the project's rules that fitted nothing, each with the likely reason."""
        if not self.rules.boundaries:
            return []
        unresolved = self._unresolved()
        return [
            (rule, self._reason(rule))
            for rule in self.rules.boundaries
            if (rule.id not in self.matched or rule.id in unresolved or self._is_idle_pattern(rule))
            and rule.id not in self._explained
            and not isinstance(rule.selector, Http)
        ]

    def _is_idle_pattern(self, rule: BoundaryRule) -> bool:
        """Return whether a rule is a pattern of a list and fits nothing; others of the list may fit something."""
        selector = rule.selector
        return isinstance(selector, Define) and (rule.id, selector) not in self._fitting

    def project_files(self) -> dict[str, tuple[str, ...]]:
        """Return the project's files that were imported, by their real paths, each with the names of its modules."""
        return {
            os.path.realpath(file): (module, *self.aliases.get(module, ()), "__main__")
            for file, module in self._files.items()
        }

    def _unresolved(self) -> set[str]:
        """Return the ids of rules that fit calls only, of a name that was nowhere found."""
        resolved: dict[str, bool] = {}
        for site_rule in (site_rule for site in self.ledger.sites for site_rule in site.rules):
            rule_id = site_rule.rule.id
            resolved[rule_id] = resolved.get(rule_id, False) or site_rule.is_known()
        return {rule_id for rule_id, is_resolved in resolved.items() if not is_resolved}

    # --- inside --------------------------------------------------------------------------------------------------------

    def _mark(self, rules: tuple[BoundaryRule, ...], definition: str) -> Mark:
        accepted, rejected = split_by_outcome(rules)
        for rule in rejected:
            reason = (
                f"{rule.place}: another rule of it has another argument for its outcome, which comes first"
            )
            self.ledger.refuse(definition, reason)
        return mark_of(accepted)

    def _find(self, module: str, file: str | None, code: CodeType) -> ModuleMatches:
        is_project = file is not None and self.project.owns(file)
        return self._matcher.find(
            module,
            code,
            lambda: read_source(code.co_filename),
            is_project=is_project,
            aliases=self.aliases.get(module, ()),
        )

    def _doors(self, module: str, code: CodeType) -> dict[tuple[str, int], Mark]:
        """Return the marks of the functions of an HTTP client that send requests."""
        from autochron.matching.definitions import definitions  # lazy: needed with the first HTTP client

        door = door_of(module)
        self._count_http()
        return {
            (name, inner.co_firstlineno): Mark(self._http, transport=door)
            for name, inner in definitions(code)
            if name in door.names
        }

    def _refuse_trace(self, rule: TraceRule, nearest: str | None) -> None:
        near = f"; the nearest is {nearest}" if nearest else ""
        reason = f"{rule.place}: its module defines no function of that name{near}"
        self.ledger.refuse(str(rule.target), reason, "no-such-target")

    def _weave_absent(self, module: ModuleType, absent: Absent) -> None:
        rule = absent.rule
        if not isinstance(rule, BoundaryRule) or not isinstance(rule.selector, Target):
            return
        target = rule.selector
        owner, name = _owner(module, target.qualname)
        if owner is None:
            self._explained.add(rule.id)
            self.ledger.refuse(str(target), f"{rule.place}: {_no_such(absent, target)}", "no-such-target")
            return
        value = getattr(owner, name)
        if isinstance(value, FunctionType):
            undo = weave_function(value, mark_of((rule,)), self.ledger)
        else:
            undo = self._wrap(owner, name, value, target, rule)
        if undo is not None:
            self._count(rule)
            self.undo.append(undo)

    def _wrap(self, owner: Any, name: str, value: Any, target: Target, rule: BoundaryRule) -> Any:
        from autochron.weaving import wrapping  # lazy: it imports wrapt

        if not callable(value):
            self.ledger.refuse(str(target), f"{rule.place}: it is not callable", "not-callable")
            return None
        if rule.outcome is not None:
            reason = f"{rule.place}: it has no code of its own in which an argument could be replaced"
            self.ledger.refuse(str(target), reason)
            return None
        point = wrapping.point_for(value, target.module, target.qualname, (rule,))
        try:
            undo = wrapping.wrap_attribute(owner, name, point)
        except (TypeError, AttributeError) as error:
            self.ledger.refuse(str(target), f"{rule.place}: it can't be replaced: {error}")
            return None
        self.ledger.woven(point)
        return undo

    def _reason(self, rule: BoundaryRule) -> str:
        """Return the likely reason why a rule fits nothing."""
        selector = rule.selector
        for absent in (absent for targets in self._absent.values() for absent in targets):
            if absent.rule is rule and isinstance(selector, Target):
                return _no_such(absent, selector)
        if isinstance(selector, Target) and selector.module not in sys.modules:
            names = {*sys.modules, *(name for names in self.aliases.values() for name in names)}
            from autochron.rules.nearest import nearest  # lazy: difflib

            near = nearest(names, selector.module)
            return f"module {selector.module} was not imported" + (f"; the nearest is {near}" if near else "")
        if isinstance(selector, CallSelector):
            return self._no_call_reason(rule)
        near = _nearest_decorator(selector, self._decorators) if isinstance(selector, Decorated) else None
        reason = "it fits no definition in the project's modules that were imported"
        if isinstance(selector, Define) and "*" not in selector.qualnames:
            return f"{reason}; write the name that it has now, or remove the rule"
        return f"{reason}; the nearest decorator is {near}" if near else reason

    def _no_call_reason(self, rule: BoundaryRule) -> str:
        """Return the likely reason why a rule fits no call. It is kept until more files are imported."""
        entry = self._reasons.get(rule.id)
        if entry is None or entry[0] != len(self._files):
            entry = self._reasons[rule.id] = (len(self._files), self._look_for_call(rule))
        return entry[1]

    def _look_for_call(self, rule: BoundaryRule) -> str:
        from autochron.matching.calls import nearest_call  # lazy: only for the report
        from autochron.matching.sites import call_rule  # lazy: as above

        dotted = call_rule(rule).pattern.dotted
        if rule.id in self.matched and dotted is not None:
            return _unresolved_reason(dotted)
        sources = (
            (module, self.project.name(file), read_source(file) or b"")
            for file, module in self._files.items()
        )
        near = nearest_call(call_rule(rule), sources)
        reason = "it fits no call in the project's modules that were imported"
        return f"{reason}; the nearest is {near}" if near else reason


def _rules_of(found: ModuleMatches) -> list[BoundaryRule]:
    """Return the rules of all matches and call sites, each as often as it fits."""
    return [*(match.rule for match in found.matches), *(site.rule for site in found.calls)]


def _unresolved_reason(dotted: str) -> str:
    """Return how far a dotted name leads in the imported modules."""
    from autochron.rules.nearest import nearest  # lazy: difflib

    parts = dotted.split(".")
    for count in range(len(parts) - 1, 0, -1):
        owner: Any = sys.modules.get(".".join(parts[:count]))
        if owner is None:
            continue
        for part in parts[count:]:
            inner = getattr(owner, part, None)
            if inner is None:
                owner_name = getattr(owner, "__qualname__", None) or owner.__name__
                near = nearest([name for name in dir(owner) if not name.startswith("_")], part)
                return f"{owner_name} has no {part}" + (f"; the nearest is {near}" if near else "")
            owner = inner
        return f"no call turned out to be of {dotted}"
    near = nearest(sys.modules, parts[0])
    return f"there is no module {parts[0]} among those imported" + (
        f"; the nearest is {near}" if near else ""
    )


def _is_of_a_pack(rule: BoundaryRule | TraceRule | SwapRule) -> bool:
    return isinstance(rule, BoundaryRule) and rule.pack is not None


def _nearest_decorator(selector: Decorated, seen: set[str]) -> str | None:
    """Return the decorator that was probably meant: one of the same name in another module, or else the nearest."""
    ending = f".{selector.decorator.rpartition('.')[2]}"
    from autochron.rules.nearest import nearest  # lazy: difflib

    matches = sorted(name for name in seen if name.endswith(ending))
    return matches[0] if matches else nearest(seen, selector.decorator)


def _no_such(absent: Absent, target: Target) -> str:
    near = f"; the nearest is {target.module}:{absent.nearest}" if absent.nearest else ""
    return f"there is no such definition{near}"


def _owner(module: ModuleType, qualname: str) -> tuple[Any, str]:
    """Return the object that has the last name of a qualified name, and that name; (None, name) if there is none."""
    *path, name = qualname.split(".")
    owner: Any = module
    for step in path:
        owner = vars(owner).get(step) if hasattr(owner, "__dict__") else None
        if owner is None:
            return None, name
    return (owner, name) if hasattr(owner, name) else (None, name)


def program_paths(rules: Rules, program: str | None) -> tuple[str, ...]:
    """Return the project's paths: those of the rules, else the program's folder and the rules' root, else that root."""
    if rules.project:
        return rules.project
    if program is not None:
        return (os.path.dirname(os.path.abspath(program)), *((rules.root,) if rules.file else ()))
    return (rules.root or os.getcwd(),)

"""From rules to what is woven where: the planner of the import hook."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from autochron._runtime.unpatched import os
from autochron.crossing.processes import MODULES as PROCESS_MODULES
from autochron.http.clients import DOORS, door_of
from autochron.instrument.mark import agreeing, mark_of
from autochron.instrument.passed_callables import PassedCallables
from autochron.matching.derived_classes import matcher_for
from autochron.matching.matcher import NOTHING, Absent, Found
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
        "uvloop",
        "trio._core._run",
        "queue",
        "asyncio.queues",
        "multiprocessing.process",
        *PROCESS_MODULES,
    }
)
"""Modules whose pools, event loops and queues carry lanes on, or whose processes are told of."""

_OTHER_CLIENTS = ("requests", "urllib3")


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
        self.watched: frozenset[str] = frozenset()
        """More modules that `on_import` is told of."""
        self.passing = PassedCallables(ledger)
        self._told: set[str] = set()
        self.undo: list[Any] = []
        """What takes back the weaving of single objects."""
        self._absent: dict[str, list[Absent]] = {}
        self._found: dict[str, Found] = {}
        self._calls: dict[str, tuple[CallSite, ...]] = {}
        self._files: dict[str, str] = {}
        """The project's files that were imported, each with its module."""
        self._reasons: dict[str, tuple[int, str]] = {}
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
        self._matcher = matcher_for(rules, project)

    # --- asked by the hook -----------------------------------------------------------------------------------------

    def concerns(self, module: str, file: str | None) -> bool:
        """Return whether anything in a module could be meant."""
        top = module.partition(".")[0]
        if top in self._waiting:
            del self._waiting[top]
            self.rules = with_imported(self.rules, module)
            self._matcher = matcher_for(self.rules, self.project)
        if module in DOORS or module in _SPAWNING or module in self.watched:
            return True
        if self._http and module in _OTHER_CLIENTS:
            reason = "its requests are not seen by `http` rules, which reach httpx, httpx2 and aiohttp"
            self.ledger.refuse(module, reason, "http-client")
        is_project = file is not None and self.project.owns(file)
        if is_project and file is not None:
            self._files[file] = module
        names = (module, *self.aliases.get(module, ()))
        return any(self._matcher.may_match(name, is_project=is_project) for name in names)

    def places(self, module: str, file: str | None, code: CodeType) -> Places:
        """Return the definitions of a module that rules fit."""
        found = self._find(module, file, code)
        for entry in found.ledger:
            self.ledger.refuse(entry.what, entry.reason, entry.slug)
        # A package of the project's own may be called as a library is (`agents`): then the pack's definitions aren't missing.
        own = file is not None and self.project.owns(file)
        self._absent[module] = [each for each in found.absent if not (own and _is_of_a_pack(each.rule))]
        for missing in found.absent:
            if isinstance(missing.rule, TraceRule):
                self._refuse_trace(missing.rule, missing.nearest)
        if found.calls:
            self._calls[module] = found.calls
        self._decorators |= found.decorators
        self._found[module] = found
        rules: dict[tuple[str, int], list[BoundaryRule]] = {}
        names: dict[tuple[str, int], str] = {}
        for match in found.matches:
            place = (match.code_name or match.qualname, match.firstlineno)
            rules.setdefault(place, []).append(match.rule)
            if match.code_name:
                names[place] = match.qualname
        for rule in _rules_of(found):
            self._count(rule.id)
        marks = {
            place: self._mark(tuple(each), f"{module}:{names.get(place, place[0])}")
            for place, each in rules.items()
        }
        for place, name in names.items():
            marks[place].name = name
        for each in found.traces:
            place = (each.qualname, each.firstlineno)
            mark = marks.setdefault(place, Mark(()))
            mark.trace = mark.trace or isinstance(each.rule, TraceRule)
        if module in DOORS:
            marks |= self._doors(module, code)
        return marks

    def fits(self, module: str, file: str, code: CodeType) -> int:
        """Return how many of a module's definitions and calls rules fit; nothing is made known of it."""
        if not self.concerns(module, file):
            return 0
        found = self._find(module, file, code)
        return len(found.matches) + len(found.calls)

    # --- what is kept between processes ------------------------------------------------------------------------------

    def fingerprint(self, module: str, file: str) -> tuple[object, ...]:
        """Return what besides rules and source decides what a module's places are."""
        packs = tuple(pack.name for pack in self.rules.packs)
        main = self.aliases.get("__main__", ())  # what checks name there
        derived = tuple((base, *sorted(known)) for base, known in sorted(self._matcher.derived.items()))
        return (packs, self.aliases.get(module, ()), main, self.project.owns(file), *derived)

    def rules_in_order(self) -> Sequence[BoundaryRule]:
        """Return all rules in force, in an order that is the same in every process."""
        return (*self.rules.boundaries, *(rule for pack in self.rules.packs for rule in pack.boundaries))

    def notes(self, module: str) -> dict[str, Any]:
        """Return what asking for `places` made known of a module, as plain data."""
        found = self._found.pop(module, NOTHING)
        numbers = {id(rule): number for number, rule in enumerate(self.rules_in_order())}
        return {
            "matched": [numbers[id(rule)] for rule in _rules_of(found)],
            "absent": [
                (numbers[id(each.rule)], each.nearest)
                for each in self._absent.get(module, ())
                if id(each.rule) in numbers
            ],
            "decorators": sorted(found.decorators),
        }

    def recall(self, module: str, file: str, notes: dict[str, Any]) -> None:
        """Know that again."""
        rules = self.rules_in_order()
        for number in notes["matched"]:
            self._count(rules[number].id)
        self._absent[module] = [Absent(rules[number], nearest) for number, nearest in notes["absent"]]
        self._decorators |= set(notes["decorators"])
        if module in DOORS:
            self._count_http()

    def door(self, module: str) -> Any:
        """Return the door of an HTTP client that a module defines."""
        return door_of(module) if module in DOORS else None

    def _count(self, rule_id: str) -> None:
        self.matched[rule_id] = self.matched.get(rule_id, 0) + 1

    def _count_http(self) -> None:
        for rule in self._http:
            self._count(rule.id)

    def bindings(self, module: str, code: CodeType) -> Sequence[Binding]:
        """Return the call sites of a module that rules fit; asked after `places`."""
        sites = self._calls.pop(module, ())
        if not sites:
            return ()
        from autochron.weaving.binding import bindings_of  # lazy: with the first rule for a call that fits

        return bindings_of(sites, module, code.co_filename)

    def executed(self, module: ModuleType) -> None:
        """Weave the targets of a module that have no code of their own there, or say why not."""
        if (module.__name__ in _SPAWNING or module.__name__ in self.watched) and self.on_import is not None:
            self.on_import(module.__name__)
        for absent in self._absent.pop(module.__name__, ()):
            self._weave_absent(module, absent)

    # --- at the end ----------------------------------------------------------------------------------------------------

    def unmatched(self) -> list[tuple[BoundaryRule, str]]:
        """Return the project's rules that fitted nothing, each with what may be the reason."""
        if not self.rules.boundaries:
            return []
        unknown = self._unknown()
        return [
            (rule, self._why(rule))
            for rule in self.rules.boundaries
            if (rule.id not in self.matched or rule.id in unknown)
            and rule.id not in self._told
            and not isinstance(rule.selector, Http)
        ]

    def project_files(self) -> dict[str, tuple[str, ...]]:
        """Return the project's files that were imported, by their real paths, each with the names of its modules."""
        return {
            os.path.realpath(file): (module, *self.aliases.get(module, ()), "__main__")
            for file, module in self._files.items()
        }

    def _unknown(self) -> set[str]:
        """Return the rules whose calls only may turn out to be of what they name, which is nowhere."""
        known: dict[str, bool] = {}
        for meant in (meant for site in self.ledger.sites for meant in site.meant):
            known[meant.rule.id] = known.get(meant.rule.id, False) or meant.is_known()
        return {rule_id for rule_id, is_known in known.items() if not is_known}

    # --- inside --------------------------------------------------------------------------------------------------------

    def _mark(self, rules: tuple[BoundaryRule, ...], definition: str) -> Mark:
        kept, others = agreeing(rules)
        for rule in others:
            reason = (
                f"{rule.place}: another rule of it has another argument for its outcome, which comes first"
            )
            self.ledger.refuse(definition, reason)
        return mark_of(kept)

    def _find(self, module: str, file: str | None, code: CodeType) -> Found:
        is_project = file is not None and self.project.owns(file)
        return self._matcher.find(
            module,
            code,
            lambda: read_source(code.co_filename),
            is_project=is_project,
            aliases=self.aliases.get(module, ()),
        )

    def _doors(self, module: str, code: CodeType) -> dict[tuple[str, int], Mark]:
        from autochron.matching.definitions import definitions  # lazy: with the first HTTP client

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
            self._told.add(rule.id)
            self.ledger.refuse(str(target), f"{rule.place}: {_no_such(absent, target)}", "no-such-target")
            return
        value = getattr(owner, name)
        if isinstance(value, FunctionType):
            undo = weave_function(value, mark_of((rule,)), self.ledger)
        else:
            undo = self._wrap(owner, name, value, target, rule)
        if undo is not None:
            self._count(rule.id)
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
        if isinstance(selector, CallSelector):
            return self._why_no_call(rule)
        near = _nearest_decorator(selector, self._decorators) if isinstance(selector, Decorated) else None
        why = "it fits no definition in the project's modules that were imported"
        if isinstance(selector, Define) and "*" not in selector.qualnames:
            return f"{why}; write the name that it has now, or remove the rule"
        return f"{why}; the nearest decorator is {near}" if near else why

    def _why_no_call(self, rule: BoundaryRule) -> str:
        known = self._reasons.get(rule.id)
        if known is None or known[0] != len(self._files):
            known = self._reasons[rule.id] = (len(self._files), self._look_for_call(rule))
        return known[1]

    def _look_for_call(self, rule: BoundaryRule) -> str:
        from autochron.matching.calls import nearest_call  # lazy: only for the report
        from autochron.matching.sites import call_rule  # lazy: as above

        dotted = call_rule(rule).pattern.dotted
        if rule.id in self.matched and dotted is not None:
            return _why_nowhere(dotted)
        sources = (
            (module, self.project.name(file), read_source(file) or b"")
            for file, module in self._files.items()
        )
        near = nearest_call(call_rule(rule), sources)
        why = "it fits no call in the project's modules that were imported"
        return f"{why}; the nearest is {near}" if near else why


def _rules_of(found: Found) -> list[BoundaryRule]:
    """Return the rule of each fit."""
    return [*(match.rule for match in found.matches), *(site.rule for site in found.calls)]


def _why_nowhere(dotted: str) -> str:
    """Say how far a dotted name leads among the imported modules."""
    from autochron.rules.nearest import nearest  # lazy: difflib

    parts = dotted.split(".")
    for count in range(len(parts) - 1, 0, -1):
        owner: Any = sys.modules.get(".".join(parts[:count]))
        if owner is None:
            continue
        for part in parts[count:]:
            inner = getattr(owner, part, None)
            if inner is None:
                held = getattr(owner, "__qualname__", None) or owner.__name__
                near = nearest([name for name in dir(owner) if not name.startswith("_")], part)
                return f"{held} has no {part}" + (f"; the nearest is {near}" if near else "")
            owner = inner
        return f"no call turned out to be of {dotted}"
    near = nearest(sys.modules, parts[0])
    return f"there is no module {parts[0]} among those imported" + (
        f"; the nearest is {near}" if near else ""
    )


def _is_of_a_pack(rule: BoundaryRule | TraceRule | SwapRule) -> bool:
    return isinstance(rule, BoundaryRule) and rule.pack is not None


def _nearest_decorator(selector: Decorated, seen: set[str]) -> str | None:
    """Return the decorator that was meant: one of that name in a module, else the nearest."""
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


def program_paths(rules: Rules, program: str | None) -> tuple[str, ...]:
    """Return the project's paths: those that the rules name, else the program's folder, else the rules' root."""
    if rules.project:
        return rules.project
    if program is not None:
        return (os.path.dirname(os.path.abspath(program)), *((rules.root,) if rules.file else ()))
    return (rules.root or os.getcwd(),)

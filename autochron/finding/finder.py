"""Find the tools that a model call declares, weave them, and know when the model has asked for one.

What a finder does happens in the program's own calls of a model, so it does little where nothing is new: it compares the
declarations with those that it has seen.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from autochron._runtime import unpatched
from autochron._runtime.bare import identity
from autochron._runtime.codeflags import parameter_names
from autochron._runtime.frame_locals import locals_of
from autochron._runtime.live_objects import exact_instances_of, functions_of
from autochron._runtime.signals import is_interruption
from autochron._runtime.unpatched import getframe
from autochron.envelope.bodies import read_body, read_content
from autochron.errors import WeavingError
from autochron.finding.argument_match import agreement, has_parameters_of, is_named
from autochron.finding.called_tools import CalledTools, OpenCall, is_inside
from autochron.finding.contexts import Selection, select
from autochron.finding.decisions import Decisions
from autochron.finding.definitions import DefinitionSearch
from autochron.finding.idle_candidates import IdleCandidates
from autochron.finding.output_forms import OutputForms
from autochron.finding.return_watch import CAN_WATCH, ReturnWatch
from autochron.finding.rules import found_rule
from autochron.finding.streamed_arguments import with_arguments
from autochron.finding.waiting_frames import callers_of, frames_from
from autochron.inputs import RECEIVERS
from autochron.instrument.found_functions import points_of
from autochron.instrument.mark import mark_of
from autochron.model import NOT_CALLED, BoundaryRule, Exchange, MetaPaths, Returned
from autochron.recording.call_facts import CallFacts, CallResult, DeclaredTool, KnownResults
from autochron.recording.declared_tools import DeclaredTools
from autochron.weaving.gate import Point
from autochron.weaving.weave import point_of

if TYPE_CHECKING:
    from autochron.crossing.crossing import Crossing
    from autochron.http.exchange import Wire
    from autochron.instrument.activation import Activation

_MOST_FRAMES = 400
"""Frames that are looked at, at most, from a call outward."""

_MOST_CANDIDATES = 12
"""Functions of one tool that are woven at most. A name that fits more says nothing."""


class _Answer(Struct):
    """A request whose answer is not complete."""

    paths: MetaPaths
    wire: Wire
    kernel: Any


class ToolFinder:
    """Finds tools in one session, and knows which calls of them are under way.

    Attributes:
        called: the calls that the models have asked for.
    """

    def __init__(
        self,
        activation: Activation,
        report: Callable[[str], None],
        declared: DeclaredTools | None = None,
    ) -> None:
        """Make one.

        Args:
            activation: weaves what is found.
            report: called with a problem on our side, in one line.
            declared: knows the tools that are new. Without, none is sought, and only those of the rules count: in a replay,
                those of its record.
        """
        self._activation = activation
        self._report = report
        self._declared = declared
        self._serves = any(rule.is_found for rule in activation.rules.boundaries)
        self.called = CalledTools()
        self._decisions = Decisions()
        self._chosen: dict[int, OpenCall] = {}
        """By thread, the call that the crossing answers which is about to begin."""
        self._answers: dict[int, _Answer] = {}
        self._callers: dict[int, CodeType] = {}
        """The project's frames that waited for the last request, with their code: they do not answer it."""
        self._unknown: set[str] = set()
        """The declared tools of which no function is known."""
        self._sought: dict[DeclaredTool, None] = {}
        """The declared tools whose functions were sought."""
        self._modules = 0
        """The number of modules that were loaded at the last search."""
        self._own_modules: frozenset[str] = frozenset()
        """The project's modules that were loaded at the last search."""
        self._known_results = KnownResults()
        self._idle = IdleCandidates()
        self._forms = OutputForms(self.called, activation.project)
        self._watch: ReturnWatch | None = None
        self._lock = unpatched.RLock()

    # --- called by the handler of crossings, around a model's requests -----------------------------------------------

    def sent(self, crossing: Crossing[Any], wire: Wire) -> None:
        """Note a request to a model that is about to be sent. New tools that it declares are sought."""
        paths = crossing.rule.meta
        if not paths.declared or crossing.rule.kind != "model":
            return
        try:
            if self._declared is not None:
                self._note_declarations(self._declared, paths, wire.content)
            is_awaited = self._has_found() or self._watches()
            if not self._unknown and not is_awaited:
                return
            facts = CallFacts(paths, b"{}", Returned(), None, wire.content)
            with self._lock:
                results = facts.results(self._known_results) if is_awaited and self.called else ()
                if self._unknown:
                    self._forms.note(facts, results, self._unknown)
            if is_awaited:
                if self._decisions:
                    self._decide(results)
                waiting = self._idle.open_calls(self.called)
                self.called.answer(crossing.seq, results)
                self._idle.note(waiting, self.called)
                if self._watch is not None:
                    self._watch.settle()
                with self._lock:
                    failed = [seq for seq, answer in self._answers.items() if answer.wire.closed]
                    for seq in failed:  # there is no answer to requests that the transport did not send
                        del self._answers[seq]
                    self._answers[crossing.seq] = _Answer(paths, wire, crossing.root.kernel)
                frames = islice(frames_from(getframe(1)), _MOST_FRAMES)
                owns = self._activation.project.owns
                self._callers = {
                    identity(frame): frame.f_code for frame in frames if owns(frame.f_code.co_filename)
                }
        except Exception as error:
            if is_interruption(error):
                raise
            self._report(f"tools were not found: {type(error).__name__}: {error} (tools-not-found)")

    def ended(self, seq: int) -> None:
        """Note that the answer to a model's request has come to its end."""
        with self._lock:
            answer = self._answers.pop(seq, None)
        if answer is not None:
            self._read(seq, answer, watches=True)

    def closed(self) -> None:
        """Note that the session ends."""
        if self._watch is not None:
            self._watch.off()
        self._decisions.close()
        found = self._activation.found
        found.dropped |= self._decisions.dropped
        try:
            has_watched = self._watch is not None and self._watch.has_watched
            found.outputs |= self._forms.among(self._unknown - found.dropped, has_watched=has_watched)
        except Exception as error:
            if is_interruption(error):
                raise
            self._report(
                f"forms of answers were not found: {type(error).__name__}: {error} (tools-not-found)"
            )
        for name, places in self._decisions.others.items():
            for place in sorted(places):
                reason = f"{self._place_of(*place)} ran when the model asked for it, but the model got another result"
                self._activation.ledger.refuse(name, reason, "other-result")
        for name in sorted(self._idle.tools - self._activation.ledger.refused):
            known = [rule for rule in self._decisions.confirmed.values() if rule.name == name]
            if all(rule.id.startswith("found by value ") for rule in known):
                found.dropped.add(name)  # the calls before it was found were not declined
            for code in self._idle.codes_of(name) if not known else ():
                function = self._place_of(code.co_filename, code.co_firstlineno, code.co_qualname)
                reason = f"{function} has its name, and did not run when the model asked for it"
                self._activation.ledger.refuse(name, reason, NOT_CALLED)

    def answered(self, crossing: Crossing[Any], exchange: Exchange) -> None:
        """Note the recorded answer that a request is served."""
        with self._lock:
            answer = self._answers.pop(crossing.seq, None)
        if answer is not None:
            self._note_calls(crossing.seq, answer.paths, exchange.url, read_body(bytes(exchange.body)))

    # --- called by the kernel ----------------------------------------------------------------------------------------

    def is_called(self, point: Point, rule: BoundaryRule, arguments: Sequence[Any], current: Any) -> bool:
        """Return whether a call of a found tool's function answers a call that a model has asked for.

        Args:
            point: the woven function.
            rule: the rule of the tool.
            arguments: the bound arguments.
            current: the innermost open crossing, or the lane's root.
        """
        ident = unpatched.get_ident()
        if self._watch is not None and (opening := self._watch.opening.get(ident)) is not None:
            self._chosen[ident] = opening[1]
            return opening[0] is rule
        if rule.id in self._decisions.rejected:
            return False
        with self._lock:
            unread = list(self._answers.items())
        for seq, answer in unread:  # a stream: its tool may run before its end
            if answer.wire.chunks:
                self._read(seq, answer)
        call = self._call_for(point, rule, arguments, current)
        if (
            call is not None
            and rule.id not in self._decisions.confirmed
            and self._is_inner(point, rule, call)
        ):
            return False
        if call is not None:
            self._chosen[ident] = call
            call.is_taken = True
        return call is not None

    def began(self, crossing: Crossing[Any], arguments: Sequence[Any]) -> bool:
        """Hold a crossing whose function is not known to be the tool; return whether it is known to be."""
        call = self._chosen.pop(unpatched.get_ident(), None)
        is_confirmed = crossing.rule.id in self._decisions.confirmed
        if crossing.point.function.endswith("generator"):
            return is_confirmed  # what it yields is stored as it comes, so it can't be held
        # If one of its name is dropped, those that follow get other numbers.
        if call is not None and not (is_confirmed and not self._decisions.holds(crossing.name)):
            self._decisions.hold(call, crossing, crossing.rule)
        return is_confirmed

    def _is_inner(self, point: Point, rule: BoundaryRule, call: OpenCall) -> bool:
        """Return whether another function with the call's arguments calls this one. Then either may be the tool."""
        project = self._activation.project
        for frame in islice(callers_of(getframe(1)), _MOST_FRAMES):
            code = frame.f_code
            is_own = (code.co_filename, code.co_firstlineno) == (point.file, point.line)
            if is_own or not project.owns(code.co_filename):
                continue
            if self._callers.get(identity(frame)) is code:
                return False
            if has_parameters_of(code, locals_of(frame), call.call):
                outer = self._place_of(code.co_filename, code.co_firstlineno, code.co_qualname)
                inner = self._place_of(point.file, point.line, point.qualname)
                reason = f"{outer} and {inner} get its arguments, and one calls the other, so neither is taken for it"
                self._activation.ledger.refuse(rule.name, reason, "ambiguous-tool")
                self._decisions.rejected.add(rule.id)
                return True
        return False

    def _call_for(
        self, point: Point, rule: BoundaryRule, arguments: Sequence[Any], current: Any
    ) -> OpenCall | None:
        """Return the open call of a tool that a call of its function answers best.

        None if there is none, or if a call of another tool with the same function is answered better.
        """
        names = dict.fromkeys(other.name for other in point.rules if other.is_found)
        best: tuple[tuple[int, int, bool], str, OpenCall] | None = None
        for name in names:
            for call in self.called.calls_of(name):
                if is_inside(call, current):
                    call.is_taken = True  # by a crossing that another rule makes
                    continue
                score = (
                    is_named(point, arguments, name) if len(names) > 1 else 0,
                    agreement(call.call, point, arguments),
                    not call.is_taken,
                )
                if best is None or score > best[0]:
                    best = score, name, call
        return None if best is None or best[1] != rule.name else best[2]

    # --- inside --------------------------------------------------------------------------------------------------------

    def _has_found(self) -> bool:
        return self._activation.found.has_rules or self._serves

    def _watches(self) -> bool:
        return CAN_WATCH and self._declared is not None and bool(self._unknown)

    def _watch_calls(self, seq: int, kernel: Any) -> None:
        """Watch for the functions of the unknown tools that an answer asks for."""
        names = {
            name
            for name in self._unknown - self._forms.forced()
            if any(call.model == seq for call in self.called.calls_of(name))
        }
        if names:
            if self._watch is None:
                self._watch = ReturnWatch(
                    self.called, self._decisions, self._activation.project, self._make_point, self._report
                )
            self._watch.asked(kernel, names)

    def _make_point(self, tool: str, code: CodeType, module: str) -> Point | None:
        if self._is_refused_lambda(tool, code):
            return None
        selection = Selection()
        if not self._declares_all(
            tool, code
        ):  # what it gets beside that may be a context; its annotations tell
            function = next(iter(functions_of(code)), None)
            selection = selection if function is None else self._select(tool, function)
        rule = found_rule(tool, code, module, self._activation, "by value", selection)
        try:
            return point_of(code, module, mark_of((rule,)))
        except WeavingError:
            return None

    def _decide(self, results: Sequence[CallResult]) -> None:
        """Decide which functions are tools by what is in these results, and weave those that were found by value."""
        kept = self._decisions.decide(results)
        for name, places in self._decisions.unclear.items():
            where = " and ".join(sorted(self._place_of(*place) for place in places))
            reason = f"{where} get its arguments and return what is in its result, so neither is taken for it"
            self._activation.ledger.refuse(name, reason, "ambiguous-tool")
        self._decisions.unclear.clear()
        for entry in kept:
            rule, point = entry.rule, entry.crossing.point
            self._unknown.discard(rule.name)
            if not rule.id.startswith("found by value "):
                continue
            for function in self._functions_at(point):
                self._activation.found.weave(function, rule)
        self._unknown |= self._decisions.missed()
        if self._watch is not None:
            self._unknown -= self._watch.known
            if not self._decisions:
                self._watch.off()

    def _is_refused_lambda(self, tool: str, code: CodeType) -> bool:
        """Return whether a replay could not tell a lambda from another one of its line."""
        if code.co_name != "<lambda>":
            return False
        others = self._at_place((code.co_filename, code.co_firstlineno, code.co_qualname))
        if all(other.__code__ is code for other in others):
            return False
        place = f"{self._activation.project.name(code.co_filename)}:{code.co_firstlineno}"
        reason = f"{place} has two lambdas, so neither is taken for it: put each in a line of its own, or use `def`"
        self._activation.ledger.refuse(tool, reason, "ambiguous-tool")
        return True

    def _functions_at(self, point: Point) -> list[FunctionType]:
        """Return the functions that a point was made for by their values."""
        modules = self._activation.project.loaded_modules().values()
        if self._watch is not None and sum(module["__file__"] == point.file for module in modules) <= 1:
            return [function for code in self._watch.codes_of(point) for function in functions_of(code)]
        # A file that was loaded twice has two functions at one place.
        return self._at_place((point.file, point.line, point.qualname))

    @staticmethod
    def _at_place(place: tuple[str, int, str]) -> list[FunctionType]:
        """Return all functions with this file, line and qualified name."""
        return [
            function
            for function in exact_instances_of(FunctionType)
            if (code := function.__code__).co_filename == place[0]
            and (code.co_filename, code.co_firstlineno, code.co_qualname) == place
        ]

    def _place_of(self, file: str, line: int, qualname: str) -> str:
        return f"{qualname} ({self._activation.project.name(file)}:{line})"

    def _read(self, seq: int, answer: _Answer, *, watches: bool = False) -> None:
        try:
            wire = answer.wire
            content = read_content(wire.door.decoded(wire), wire.header("content-type"))
            self._note_calls(seq, answer.paths, wire.url, content)
            if watches and self._watches() and answer.kernel is not None:
                self._watch_calls(seq, answer.kernel)
        except Exception as error:
            if is_interruption(error):
                raise
            self._report(f"an answer was not read: {type(error).__name__}: {error} (tools-not-found)")

    def _note_calls(self, seq: int, paths: MetaPaths, url: str, content: Any) -> None:
        calls = CallFacts.of_answer(paths, url, content).calls()
        self.called.ask(seq, with_arguments(calls, content))

    def _note_declarations(self, declared: DeclaredTools, paths: MetaPaths, body: bytes) -> None:
        """Seek the tools of a request, unless it declares what an earlier one did.

        The earlier ones are sought again if the project has more modules by now, since another function of a tool may be in
        one of these.
        """
        if not declared.may_be_new(paths, body) and not self._has_new_modules():
            return
        with self._lock:  # until they are woven: another thread may declare the same tools
            new = declared.new(paths, body)
            tools = () if new is None else new.tools
            if self._sought and self._has_new_modules():
                tools = tuple(dict.fromkeys((*self._sought, *tools)))
            if tools:
                self._find(tools)
            if new is not None:
                declared.keep(new)

    def _has_new_modules(self) -> bool:
        """Return whether a module of the project was loaded after the last search."""
        count = len(sys.modules)
        if count == self._modules:
            return False
        if self._activation.project.loaded_modules().keys() <= self._own_modules:
            self._modules = count
            return False
        return True

    def _find(self, tools: Sequence[DeclaredTool]) -> None:
        activation = self._activation
        modules = activation.project.loaded_modules()
        self._modules, self._own_modules = len(sys.modules), frozenset(modules)
        functions = DefinitionSearch(tools, activation.project).functions(getframe(2), modules)
        self._unknown |= {tool.name for tool in tools if tool not in self._sought} - functions.keys()
        self._sought.update(dict.fromkeys(tools))
        for name, candidates in functions.items():
            if any(_is_ruled(function) for function in candidates):
                continue  # a table of the project covers it
            if len(candidates) > _MOST_CANDIDATES:
                reason = f"{len(candidates)} functions of the project have its name, so none is taken for it"
                activation.ledger.refuse(name, reason, "ambiguous-tool")
                continue
            if any(not points_of(function.__code__) for function in candidates):
                self._unknown.discard(name)
            if any(self._is_refused_lambda(name, function.__code__) for function in candidates):
                continue
            for function in candidates:
                self._idle.add(name, function.__code__)
                activation.found.weave(function, self._rule_by_name(name, function, tools))

    def _rule_by_name(
        self, tool: str, function: FunctionType, declared: Iterable[DeclaredTool]
    ) -> BoundaryRule:
        module = str(function.__globals__.get("__name__", ""))
        selection = self._select(tool, function, declared)
        return found_rule(tool, function.__code__, module, self._activation, "by name", selection)

    def _select(
        self, name: str, function: FunctionType, declared: Iterable[DeclaredTool] | None = None
    ) -> Selection:
        """Return what of the arguments of a tool's function is input."""
        tool = self._tool(name) if declared is None else _named(name, declared)
        return select(function, tool, self._activation.project, self._activation.rules)

    def _tool(self, name: str) -> DeclaredTool | None:
        """Return how a request declares a tool; None if none does."""
        return None if self._declared is None else _named(name, self._declared.known)

    def _declares_all(self, name: str, code: CodeType) -> bool:
        """Return whether a request declares all parameters of a tool's function. To look for the function takes long."""
        tool = self._tool(name)
        names, variadic = parameter_names(code)
        parameters = None if tool is None else tool.parameters
        return (
            parameters is not None
            and not any(variadic)
            and parameters.issuperset({*names}.difference(RECEIVERS))
        )


def _named(name: str, tools: Iterable[DeclaredTool]) -> DeclaredTool | None:
    return next((tool for tool in tools if tool.name == name), None)


def _is_ruled(function: FunctionType) -> bool:
    """Return whether a rule of a file covers a function."""
    return any(not rule.is_found for point in points_of(function.__code__) for rule in point.rules)

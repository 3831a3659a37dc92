"""Find out which non-deterministic values change a run: replace each site's values, keep all others, compare the replays.

The first replay is unperturbed. It fills the tape and shows which libraries the program imports. This process imports them,
and each further replay is a fork of it. In all replays set orders and addresses pass through a function, so that those of
one line can be varied. Python takes its hash seed at the start, so replays with other seeds are new processes. They show
changes that no single line explains.
"""

from __future__ import annotations

import pickle
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from msgspec import structs

from autochron._runtime import hashseed, unpatched
from autochron._runtime.unpatched import os
from autochron.detect.ambient_rules import RequestedValues
from autochron.detect.catalogue import BY_NAME
from autochron.diagnostics.check import check
from autochron.errors import UsageError
from autochron.impact.alternative_values import can_vary, variants_of
from autochron.impact.consistency import Agreement
from autochron.impact.effect import difference
from autochron.impact.hash_seeds import NUMBER, PROBE, Seeds, plans_in
from autochron.impact.order_perturbation import NOTHING
from autochron.impact.preloading import imports_of, preload
from autochron.impact.probe import HANGS, Outcome, Probe, failed_outcome, packed
from autochron.impact.search import Search
from autochron.impact.site_conditions import conditions_for
from autochron.impact.steady_clocks import has_steady, inverted, is_steady, oriented
from autochron.impact.tape import Tape, site_key
from autochron.instrument.activation import activate
from autochron.isolation.environment import set_environment
from autochron.model import Category, Effect, Finding, Impact, Impacts, Rules, Site, ValueChange
from autochron.ports import Record
from autochron.program.main_module import Program
from autochron.program.replay import enter_folder, load_record
from autochron.program.run import Options, with_own_code
from autochron.replaying.command_trust import refuse_foreign
from autochron.replaying.plan import FULL

_UNORDERED: tuple[Category, ...] = ("set-order", "identity")
_LEAST = 5.0
"""The shortest default timeout of a replay, in seconds."""
_ATTEMPTS = 20
"""How often values are drawn that lead to crossings of the trace only."""
_FIRST = 120.0
"""The default timeout of the first replay, in seconds."""


class ImpactRequest(NamedTuple):
    """The trace to analyse, and how."""

    reference: str
    """A name, an id or its prefix, `last`, or the path of a trace file."""
    words: tuple[str, ...]
    """The command's own arguments, which the processes with other hash seeds get."""
    variants: int | None = None
    """How many variants each site gets; None for as many as are worth it."""
    site: str | None = None
    """`FILE:LINE` of the only site to try; None for all."""
    timeout: float | None = None
    """Seconds that a replay may take; None for a multiple of the first one's duration."""
    trusted: str | None = None
    """The digest of the recorded command that may be run."""


Progress = Callable[[int, str], None]
"""Called with the number of replays so far, and with what the current one tries."""


def find_impact(options: Options, request: ImpactRequest, progress: Progress) -> tuple[Impacts, str | None]:
    """Perturb each site of a trace.

    Args:
        options: where the rules and the trace are.
        request: the trace and the limits.
        progress: called before each replay.

    Returns:
        The result for each site, and the path of the rule file, None where there is none.

    Raises:
        UsageError: the system can't fork, the trace names no program, two unperturbed replays differ, or the site that was
            asked for is unknown.
        RuleError, StoreError: the rules or the trace can't be read.
        UntrustedTraceError: nobody has allowed the trace's command to run.
    """
    if unpatched.fork is None:
        raise UsageError(
            "autochron impact forks a process for each replay, which this system can't; use another one"
        )
    folder = os.getcwd()
    record, rules = load_record(options, request.reference)
    plan_file = os.environ.pop(PROBE, None)
    if plan_file is None and not hashseed.current():
        hashseed.start_again(record.header.hash_seed or hashseed.choose())
    elif plan_file is None and record.header.hash_seed not in {"", hashseed.current()}:
        hashseed.start_again(record.header.hash_seed)
    if plan_file is None:
        refuse_foreign(record.header, request.reference, rules, ("impact", *request.words), request.trusted)
    probe, rules = _prepare(record, rules)
    if plan_file is not None:
        _answer(probe, plan_file)
    analysis = _Analysis(probe, record, rules, request, progress)
    return analysis.run(folder), rules.file


def _prepare(record: Record, rules: Rules) -> tuple[Probe, Rules]:
    command = record.header.command
    if command.mode == "block":
        raise UsageError(
            f"trace {record.header.id} names no program, for it is of a block; record the whole with `autochron run`"
        )
    enter_folder(rules, command)
    program = Program(command)
    rules = with_own_code(rules, command)
    set_environment(record, FULL)
    activation = activate(rules, program.own, aliases={"__main__": program.aliases})
    return Probe(activation, record, command, program.path), rules


def _answer(probe: Probe, file: str) -> None:
    """Replay once in this process, which has another hash seed, and write the outcome beside the plan file."""
    with open(file, "rb") as stream:
        tape, is_wrapped = pickle.load(stream)  # noqa: S301 - written by our parent process

    def send(outcome: Outcome) -> None:
        with open(f"{file}.out", "wb") as stream:
            stream.write(packed(outcome))

    probe.folder = plans_in(os.path.dirname(file))
    probe.scratch = f"{file}.contents"
    os.mkdir(probe.scratch)
    if not is_wrapped:
        probe.sources = None
    probe.here(tape, {}, send)


class _Analysis:
    """The analysis of one trace."""

    def __init__(
        self, probe: Probe, record: Record, rules: Rules, request: ImpactRequest, progress: Progress
    ) -> None:
        self._probe = probe
        self._record = record
        self._rules = rules
        self._request = request
        self._progress = progress
        self._tape: Tape = {}
        self._baseline = failed_outcome("was not replayed")
        self._varied: set[str] = set()
        self._changes: dict[str, ValueChange] = {}
        """The smallest change that shows a harmful site, by its key."""
        self._timeout = request.timeout or _FIRST
        self._replays = 0
        self._seeds: Seeds | None = None
        self._steady: frozenset[str] = frozenset()
        self._agreement = Agreement({}, NOTHING, self._baseline, None)

    def run(self, folder: str) -> Impacts:
        """Find the sites, try them, and return the result for each. Replays with other seeds start in `folder`."""
        # Not a TemporaryDirectory: each fork runs the exit handlers, and would remove it.
        scratch = tempfile.mkdtemp()
        try:
            self._probe.folder = plans_in(scratch)
            self._probe.scratch = os.path.join(scratch, "contents")
            os.mkdir(self._probe.scratch)
            preload(imports_of(self._probe.path, self._probe.owns))
            return self._search_all(scratch, folder)
        finally:
            if self._seeds is not None:
                self._seeds.end()
            shutil.rmtree(scratch, ignore_errors=True)

    def _search_all(self, scratch: str, folder: str) -> Impacts:
        """Find and try all sites, those of the tape first: meanwhile the processes with other seeds replay."""
        first = self._begin()
        sites = self._sites(first)
        orders = self._orders(first, sites)
        unscanned = self._unscanned({**sites, **orders})
        orders.update(unscanned)
        if any(site.category == "set-order" for site in orders.values()):
            self._start_seeds(scratch, folder)
        known = conditions_for(sites, first.files, self._probe.name_of)
        self._probe.conditions, self._probe.words = known
        steady = {key: site for key, site in sites.items() if is_steady(site.call)}
        self._steady = frozenset(steady)
        searches = [self._search({key: site for key, site in sites.items() if key not in steady})]
        searches.append(self._search(steady))
        self._agreement = Agreement(
            orders,
            first.ordered,
            self._baseline,
            self._seeds,
            is_wrapped=self._probe.sources is not None,
        )
        wanted: dict[str, Impact] = {}
        for key, site in orders.items():
            untried = self._agreement.untried(key)
            if self._is_wanted(site.site) and (untried is None or key not in unscanned):
                wanted[key] = _with(site, untried=untried)
        sites |= wanted
        if self._request.site is not None and not sites:
            raise UsageError(
                f"no value is asked for at {self._request.site} in a replay of trace {self._record.header.id};"
                " give FILE:LINE as `autochron impact` without --site prints it"
            )
        searches.append(self._search(wanted))
        harmful = {key: effect for search in searches for key, effect in search.harmful.items()}
        results = {key: self._result(key, site, harmful) for key, site in sites.items()}
        problems = self._compare_seeds(results, orders)
        ordered = sorted(results.values(), key=lambda site: (site.site.file, site.site.line, site.call))
        return Impacts(
            trace=self._record.header.id, sites=tuple(ordered), replays=self._replays, problems=problems
        )

    def _start_seeds(self, scratch: str, folder: str) -> None:
        """Start the replays with other hash seeds."""
        self._seeds = Seeds(
            self._request.words,
            self._tape,
            is_wrapped=self._probe.sources is not None,
            scratch=scratch,
            folder=folder,
            timeout=self._request.timeout or max(60.0, 6 * self._timeout),
        )
        self._replays += NUMBER
        self._progress(self._replays, "other seeds of hashes")

    def _search(self, sites: Mapping[str, Impact]) -> Search:
        """Try all sites that can be tried, and return the finished search."""
        search = Search(
            {key: self._variants_of(key, site) for key, site in sites.items() if site.untried is None},
            self._attempt,
        )
        search.run()
        return search

    def _variants_of(self, key: str, site: Impact) -> int:
        """Return how many variants a site gets."""
        source = None if site.category in _UNORDERED else BY_NAME.get(site.call)
        probe = self._probe
        return self._request.variants or variants_of(
            source, len(probe.conditions.get(key, ())), has_words=bool(probe.words.get(key))
        )

    def _begin(self) -> Outcome:
        """Fill the tape, check that a second replay is the same, and return the first one's outcome.

        If it isn't, try both again with the project's modules as they are, not rewritten.

        Raises:
            UsageError: the trace doesn't replay, or two unperturbed replays differ.
        """
        first = self._first()
        broken, effect = self._broken(first), None
        if broken is None:
            self._tape = first.tape
            preload(first.modules)
            if self._probe.sources is not None:
                self._probe.sources.prepare(first.files)
            began = unpatched.perf_counter_ns()
            self._baseline = self._replay({})
            took = (unpatched.perf_counter_ns() - began) / 1e9
            self._timeout = self._request.timeout or max(_LEAST, 6 * took)
            effect = difference(first, self._baseline)
        if (
            effect is not None
        ):  # only the first replay had to import the libraries, so compare two that had not
            before, self._baseline = self._baseline, self._replay({})
            effect = difference(before, self._baseline)
        if broken is None and effect is None:
            return first
        if self._probe.sources is not None:
            self._probe.sources = None
            self._timeout = self._request.timeout or _FIRST
            try:
                return self._begin()
            except UsageError:
                if effect is None:
                    raise
        raise self._refusal(broken, effect)

    def _first(self) -> Outcome:
        """Fill the tape. Values that lead to a crossing which the trace does not have are drawn anew."""
        outcome = self._replay({}, first=True)
        while (
            self._probe.attempt < _ATTEMPTS
            and outcome.replaceable
            and any(fault.endswith("(extra)") for fault in outcome.faults)
        ):
            self._probe.attempt += 1
            outcome = self._replay({}, first=True)
        return outcome

    def _replay(self, variants: Mapping[str, int], *, first: bool = False) -> Outcome:
        """Replay once in a fork. The first replay fills the tape; later ones are served from it."""
        self._replays += 1
        self._progress(self._replays, f"{len(variants)} sites" if variants else "the program as it is")
        outcome = self._probe.forked(None if first else self._tape, variants, self._timeout)
        self._varied |= outcome.varied
        return outcome

    def _attempt(self, variants: Mapping[str, int]) -> Effect | None:
        """Replay with these variants, and return what changed. For a single site, all its groups must confirm the change."""
        if len(variants) > 1 and has_steady(variants):
            variants = oriented(variants, self._steady)
        outcome = self._replay(variants)
        effect = difference(self._reference(variants), outcome)
        if effect is None or len(variants) > 1:
            return effect
        ((key, variant),) = variants.items()
        for group in self._agreement.groups(key):
            if difference(self._baseline, self._replay(dict.fromkeys(group, variant))) is None:
                return None
        if key in outcome.changes:
            return self._smallest(key, variant, effect, ValueChange(*outcome.changes[key]))
        return effect

    def _smallest(self, key: str, variant: int, effect: Effect, change: ValueChange) -> Effect:
        """Note the change that shows a harmful site: another value of its first call only, where that is enough."""
        calls = sum(len(values) for (site, _), values in self._tape.items() if site == key)
        if calls > 1:
            self._probe.single = True
            try:
                outcome = self._replay({key: variant})
            finally:
                self._probe.single = False
            alone = difference(self._baseline, outcome)
            effect, calls = (effect, calls) if alone is None else (alone, 1)
        self._changes[key] = structs.replace(change, calls=max(1, calls))
        return effect

    def _reference(self, variants: Mapping[str, int]) -> Outcome:
        """Return the replay to compare with: the baseline, or for steady clocks one in which time passes right after."""
        return self._replay(inverted(variants)) if has_steady(variants) else self._baseline

    def _broken(self, first: Outcome) -> str | None:
        """Return why the first replay can't be compared with others; None where it can."""
        reason = first.problem
        if reason == HANGS:
            return f"it was not done after {self._timeout:g} s; give --timeout more"
        footer = self._record.footer
        if reason is None and first.uncaught is not None and (footer is None or not footer.status):
            return f"it breaks on an uncaught {first.uncaught}" + "".join(
                f": {fault}" for fault in first.faults[:1]
            )
        return first.faults[0] if reason is None and first.faults else reason

    def _refusal(self, broken: str | None, effect: Effect | None) -> UsageError:
        """Return the error for a trace that is broken, or whose second replay had this effect."""
        trace = self._record.header.id
        if broken is not None:
            return UsageError(
                f"trace {trace} doesn't replay: {broken}; see what `autochron replay {trace}` says"
            )
        assert effect is not None  # noqa: S101 - one of the two is why
        suspects = [
            f"{finding.call} at {finding.site}"
            for finding in self._baseline.findings
            if finding.covered is None
            and site_key(finding.call, finding.site.file, finding.site.line) not in self._baseline.replaceable
        ]
        whence = (
            f"what it comes from, perhaps {' or '.join(suspects[:3])}," if suspects else "what it comes from"
        )
        return UsageError(
            f"two replays with the same values are not the same: the second {effect.what} ({effect.before!r}, then"
            f" {effect.after!r}), which no site explains; make {whence} a boundary, and record again"
        )

    # --- sites -------------------------------------------------------------------------------------------------------

    def _sites(self, first: Outcome) -> dict[str, Impact]:
        """Return the sites that the first replay reached, each with the reason if it can't be tried."""
        sites: dict[str, Impact] = {}
        requested = RequestedValues(self._rules)
        for finding in first.findings:
            key = site_key(finding.call, finding.site.file, finding.site.line)
            if not self._is_wanted(finding.site) or finding.covered == "boundary":
                continue
            source = requested.known.get(finding.call)
            if source is not None and requested.includes(source, finding.site.file, finding.site.line):
                continue  # a rule records it
            if key not in sites or sites[key].untried is not None:
                sites[key] = _impact(finding, _untried(finding, is_replaceable=key in first.replaceable))
        return sites

    def _is_wanted(self, site: Site) -> bool:
        return self._request.site in {None, str(site)}

    def _result(self, key: str, site: Impact, harmful: Mapping[str, tuple[int, Effect]]) -> Impact:
        """Return a site with what the search found out about it."""
        if site.untried is not None:
            return site
        variants, effect = harmful.get(key, (self._variants_of(key, site), None))
        if effect is None and key not in self._varied:
            return _with(site, untried="its values have no others that are known")
        change = None if effect is None else self._changes.get(key)
        return _with(site, variants=variants, effect=effect, change=change)

    # --- set orders and addresses --------------------------------------------------------------------------------------

    def _orders(self, first: Outcome, sites: Mapping[str, Impact]) -> dict[str, Impact]:
        """Return the sites at which the scan finds values that depend on a set's order or on an address."""
        checked = check(first.files, self._rules, categories=_UNORDERED) if first.files else None
        orders: dict[str, Impact] = {}
        for finding in checked.findings if checked else ():
            key = site_key(finding.call, finding.site.file, finding.site.line)
            if finding.covered != "boundary" and key not in sites:
                orders.setdefault(key, _impact(finding))
        return orders

    def _unscanned(self, sites: Mapping[str, Impact]) -> dict[str, Impact]:
        """Return the rewritten sites that the scan does not report, and that the baseline reached."""
        known = {} if self._probe.sources is None else self._probe.sources.sites
        met = self._baseline.replaceable & self._baseline.ordered.contents.keys()
        return {key: known[key] for key in sorted(met) if key in known and key not in sites}

    def _compare_seeds(self, results: dict[str, Impact], orders: Mapping[str, Impact]) -> tuple[str, ...]:
        """Check whether another hash seed changes the run although no set order does alone; return the problems.

        If so, the set orders in `results` are marked as harmful together.
        """
        sets = [key for key in orders if orders[key].category == "set-order" and key in results]
        if self._seeds is None or any(key in results and results[key].effect is not None for key in sets):
            return ()
        for number, outcome in enumerate(self._seeds.outcomes(), start=1):
            if outcome.problem not in {None, HANGS}:
                fact = f"a replay with another seed of hashes {outcome.problem}"
                return (f"{fact}, so the orders of sets were tried one by one only (untried-seeds)",)
            effect = difference(self._baseline, outcome)
            if effect is not None:
                return (self._blame(results, sets, effect, number),)
        return ()

    def _blame(self, results: dict[str, Impact], sets: Sequence[str], effect: Effect, number: int) -> str:
        """Mark the suspected set orders as harmful, and return the problem to report."""
        fact = (
            f"another seed of hashes {effect.what} (was {effect.before!r}, is now {effect.after!r}), and no order of a set"
            " does alone"
        )
        if self._request.site is not None:
            return f"{fact}; only {self._request.site} was tried (unexplained-order)"
        suspects = self._agreement.suspects(sets)
        if not suspects:
            return f"{fact}, nor is one known that could (unexplained-order)"
        change = effect.what if len(suspects) < 2 else f"{effect.what} (this or another order of a set)"
        shared = Effect(change, effect.before, effect.after)
        for key in suspects:
            results[key] = _with(results[key], variants=number, effect=shared)
        return f"{fact}, so those are called harmful together (unexplained-order)"


def _untried(finding: Finding, *, is_replaceable: bool) -> str | None:
    """Return why a site's values can't be varied; None where they can."""
    source = BY_NAME.get(finding.call)
    if source is None or not can_vary(source):
        return f"no other values of {finding.category} are known"
    if finding.via is not None:
        return f"{finding.via} asks for it, and not the project's line"
    return None if is_replaceable else "its values can't be replaced"


def _impact(finding: Finding, untried: str | None = None) -> Impact:
    return Impact(
        site=finding.site,
        category=finding.category,
        call=finding.call,
        count=finding.count,
        tier=finding.tier,
        via=finding.via,
        untried=untried,
    )


def _with(
    site: Impact,
    *,
    variants: int = 0,
    effect: Effect | None = None,
    change: ValueChange | None = None,
    untried: str | None = None,
) -> Impact:
    return structs.replace(site, variants=variants, effect=effect, change=change, untried=untried)

"""Which non-deterministic values matter: each site's is replaced while all others stay, and the replays are compared.

The program is replayed once as it is, which fills the tape and says which libraries it imports; these are imported here, and
each further replay is a fork of this process. In all of them the orders of sets and the places of objects pass through a
function, so that each line's can be another one. The seed of hashes is taken when Python starts, so replays with other seeds
are processes of their own: they tell what no line explains.
"""

from __future__ import annotations

import ast
import gc
import importlib.util
import pickle
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from autochron._runtime import hashseed, unpatched
from autochron._runtime.unpatched import os
from autochron.detect.catalogue import BY_NAME
from autochron.diagnostics.check import check
from autochron.errors import UsageError
from autochron.impact.alternative_values import can_vary
from autochron.impact.consistency import Agreement
from autochron.impact.effect import difference
from autochron.impact.hash_seeds import NUMBER, PROBE, Seeds, plans_in
from autochron.impact.order_perturbation import NOTHING
from autochron.impact.probe import HANGS, Outcome, Probe, none, packed
from autochron.impact.search import Search
from autochron.impact.tape import Tape, site_key
from autochron.instrument.activation import activate
from autochron.isolation.environment import set_environment
from autochron.model import Category, Effect, Finding, Impact, Impacts, Rules, Site
from autochron.ports import Record
from autochron.program.main_module import Program
from autochron.program.replay import enter_folder, load_record
from autochron.program.run import Options
from autochron.project import read_source
from autochron.replaying.command_trust import refuse_foreign
from autochron.replaying.plan import FULL

_UNORDERED: tuple[Category, ...] = ("set-order", "identity")
_LEAST = 5.0
_FIRST = 120.0
"""Seconds that the first replay may take where nothing else is said."""


class ImpactRequest(NamedTuple):
    """What is asked for."""

    reference: str
    words: tuple[str, ...]
    """The command's own, for processes with other seeds."""
    variants: int = 4
    site: str | None = None
    timeout: float | None = None
    trusted: str | None = None
    """The digest of the recorded command that may be run."""


Progress = Callable[[int, str], None]
"""Told how many replays have been made, and what is looked at."""


def find_impact(options: Options, asked: ImpactRequest, progress: Progress) -> tuple[Impacts, str | None]:
    """Perturb each site of a trace; gives what became of them, and the folder in which that is kept.

    Raises:
        UsageError, RuleError, StoreError: the trace, or what it names, can't be replayed again and again.
    """
    if unpatched.fork is None:
        raise UsageError(
            "autochron impact forks a process for each replay, which this system can't; use another one"
        )
    folder = os.getcwd()
    record, rules = load_record(options, asked.reference)
    probed = os.environ.pop(PROBE, None)
    if probed is None and not hashseed.current():
        hashseed.start_again(record.header.hash_seed or hashseed.choose())
    elif probed is None and record.header.hash_seed not in {"", hashseed.current()}:
        hashseed.start_again(record.header.hash_seed)
    if probed is None:
        refuse_foreign(record.header, asked.reference, rules, ("impact", *asked.words), asked.trusted)
    probe, rules = _prepare(record, rules)
    if probed is not None:
        _answer(probe, probed)
    search = _Impact(probe, record, rules, asked, progress)
    return search.run(folder), rules.file


def _prepare(record: Record, rules: Rules) -> tuple[Probe, Rules]:
    command = record.header.command
    if command.mode == "block":
        raise UsageError(
            f"trace {record.header.id} names no program, for it is of a block; record the whole with `autochron run`"
        )
    enter_folder(rules, command)
    program = Program(command)
    set_environment(record, FULL)
    activation = activate(rules, program.own, aliases={"__main__": program.aliases})
    return Probe(activation, record, command, program.path), rules


def _answer(probe: Probe, file: str) -> None:
    """Replay once in this process, which has another seed."""
    with open(file, "rb") as stream:
        tape, is_wrapped = pickle.load(stream)  # noqa: S301 - of the process that has started this one

    def send(outcome: Outcome) -> None:
        with open(f"{file}.out", "wb") as stream:
            stream.write(packed(outcome))

    probe.folder = plans_in(os.path.dirname(file))
    if not is_wrapped:
        probe.sources = None
    probe.here(tape, {}, send)


class _Impact:
    """One search of a trace."""

    def __init__(
        self, probe: Probe, record: Record, rules: Rules, asked: ImpactRequest, progress: Progress
    ) -> None:
        self._probe = probe
        self._record = record
        self._rules = rules
        self._asked = asked
        self._progress = progress
        self._tape: Tape = {}
        self._baseline = none("was not replayed")
        self._varied: set[str] = set()
        self._timeout = asked.timeout or _FIRST
        self._replays = 0
        self._seeds: Seeds | None = None
        self._agreement = Agreement({}, NOTHING, self._baseline, None)

    def run(self, folder: str) -> Impacts:
        """Find the sites, try them, and say what became of each."""
        # Not a TemporaryDirectory: each fork runs what is due at exit, and would remove it.
        scratch = tempfile.mkdtemp()
        self._probe.folder = plans_in(scratch)
        _preload(_imports_of(self._probe.path, self._probe.owns))
        try:
            return self._searched(scratch, folder)
        finally:
            if self._seeds is not None:
                self._seeds.end()
            shutil.rmtree(scratch, ignore_errors=True)

    def _searched(self, scratch: str, folder: str) -> Impacts:
        first = self._begin()
        sites = self._sites(first)
        orders = self._orders(first, sites)
        unscanned = self._seen({**sites, **orders})
        orders.update(unscanned)
        if any(each.category == "set-order" for each in orders.values()):
            self._seeds = Seeds(
                self._asked.words,
                self._tape,
                is_wrapped=self._probe.sources is not None,
                scratch=scratch,
                folder=folder,
                timeout=self._asked.timeout or max(60.0, 6 * self._timeout),
            )
            self._replays += NUMBER
            self._progress(self._replays, "other seeds of hashes")
        searches = [self._search(sites)]  # while the other seeds are at work
        self._agreement = Agreement(
            orders,
            first.ordered,
            self._baseline,
            self._seeds,
            is_wrapped=self._probe.sources is not None,
        )
        ordering: dict[str, Impact] = {}
        for key, each in orders.items():
            untried = self._agreement.untried(key)
            if self._is_wanted(each.site) and (untried is None or key not in unscanned):
                ordering[key] = _with(each, untried=untried)
        sites |= ordering
        if self._asked.site is not None and not sites:
            raise UsageError(
                f"no value is asked for at {self._asked.site} in a replay of trace {self._record.header.id};"
                " give FILE:LINE as `autochron impact` without --site prints it"
            )
        searches.append(self._search(ordering))
        harmful = {key: found for each in searches for key, found in each.harmful.items()}
        told = {key: self._told(key, each, harmful) for key, each in sites.items()}
        problems = self._compare_seeds(told, orders)
        ordered = sorted(told.values(), key=lambda each: (each.site.file, each.site.line, each.call))
        return Impacts(
            trace=self._record.header.id, sites=tuple(ordered), replays=self._replays, problems=problems
        )

    def _search(self, sites: Mapping[str, Impact]) -> Search:
        """Try the sites that can be tried."""
        tried = [key for key, each in sites.items() if each.untried is None]
        search = Search(tried, self._asked.variants, self._attempt)
        search.run()
        return search

    def _begin(self) -> Outcome:
        """Fill the tape, and see that a replay is the same again; else the modules run as they are, and that is tried."""
        first = self._replayed({}, first=True)
        broken, found = self._broken(first), None
        if broken is None:
            self._tape = first.tape
            _preload(first.modules)
            if self._probe.sources is not None:
                self._probe.sources.prepare(first.files)
            began = unpatched.perf_counter_ns()
            self._baseline = self._replayed({})
            took = (unpatched.perf_counter_ns() - began) / 1e9
            self._timeout = self._asked.timeout or max(_LEAST, 6 * took)
            found = difference(first, self._baseline)
        if found is not None:  # the first one had to import what lies in memory by now
            before, self._baseline = self._baseline, self._replayed({})
            found = difference(before, self._baseline)
        if broken is None and found is None:
            return first
        if self._probe.sources is not None:
            self._probe.sources = None
            self._timeout = self._asked.timeout or _FIRST
            try:
                return self._begin()
            except UsageError:
                if found is None:
                    raise
        raise self._refusal(broken, found)

    def _replayed(self, variants: Mapping[str, int], *, first: bool = False) -> Outcome:
        self._replays += 1
        self._progress(self._replays, f"{len(variants)} sites" if variants else "the program as it is")
        outcome = self._probe.forked(None if first else self._tape, variants, self._timeout)
        self._varied |= outcome.varied
        return outcome

    def _attempt(self, variants: Mapping[str, int]) -> Effect | None:
        found = difference(self._baseline, self._replayed(variants))
        if found is None or len(variants) > 1:
            return found
        ((key, variant),) = variants.items()
        for group in self._agreement.groups(key):
            if difference(self._baseline, self._replayed(dict.fromkeys(group, variant))) is None:
                return None
        return found

    def _broken(self, first: Outcome) -> str | None:
        """Say why nothing can be made of a replay."""
        reason = first.problem
        if reason == HANGS:
            return f"it was not done after {self._timeout:g} s; give --timeout more"
        footer = self._record.footer
        if reason is None and first.uncaught is not None and (footer is None or not footer.status):
            return f"it breaks on an uncaught {first.uncaught}" + "".join(
                f": {each}" for each in first.faults[:1]
            )
        return first.faults[0] if reason is None and first.faults else reason

    def _refusal(self, broken: str | None, found: Effect | None) -> UsageError:
        trace = self._record.header.id
        if broken is not None:
            return UsageError(
                f"trace {trace} doesn't replay: {broken}; see what `autochron replay {trace}` says"
            )
        assert found is not None  # noqa: S101 - one of the two is why
        suspects = [
            f"{each.call} at {each.site}"
            for each in self._baseline.findings
            if each.covered is None
            and site_key(each.call, each.site.file, each.site.line) not in self._baseline.replaceable
        ]
        whence = (
            f"what it comes from, perhaps {' or '.join(suspects[:3])}," if suspects else "what it comes from"
        )
        return UsageError(
            f"two replays with the same values are not the same: the second {found.what} ({found.before!r}, then"
            f" {found.after!r}), which no site explains; make {whence} a boundary, and record again"
        )

    # --- sites -------------------------------------------------------------------------------------------------------

    def _sites(self, first: Outcome) -> dict[str, Impact]:
        """Return the sites that the first replay came to, with why one can't be tried."""
        found: dict[str, Impact] = {}
        for each in first.findings:
            key = site_key(each.call, each.site.file, each.site.line)
            if not self._is_wanted(each.site) or each.covered == "boundary":
                continue
            if key not in found or found[key].untried is not None:
                found[key] = _impact(each, _untried(each, is_replaceable=key in first.replaceable))
        return found

    def _is_wanted(self, site: Site) -> bool:
        return self._asked.site in {None, str(site)}

    def _told(self, key: str, site: Impact, harmful: Mapping[str, tuple[int, Effect]]) -> Impact:
        if site.untried is not None:
            return site
        tried, changed = harmful.get(key, (self._asked.variants, None))
        if changed is None and key not in self._varied:
            return _with(site, untried="its values have no others that are known")
        return _with(site, variants=tried, effect=changed)

    # --- the order of sets, and places in memory ----------------------------------------------------------------------

    def _orders(self, first: Outcome, sites: Mapping[str, Impact]) -> dict[str, Impact]:
        """Return the lines whose values are those of a set's order or of a place, as the scan sees them."""
        checked = check(first.files, self._rules, categories=_UNORDERED) if first.files else None
        found: dict[str, Impact] = {}
        for each in checked.findings if checked else ():
            key = site_key(each.call, each.site.file, each.site.line)
            if each.covered != "boundary" and key not in sites:
                found.setdefault(key, _impact(each))
        return found

    def _seen(self, sites: Mapping[str, Impact]) -> dict[str, Impact]:
        """Return those that no scan sees, and that were met in a replay."""
        known = {} if self._probe.sources is None else self._probe.sources.sites
        met = self._baseline.replaceable & self._baseline.ordered.contents.keys()
        return {key: known[key] for key in sorted(met) if key in known and key not in sites}

    def _compare_seeds(self, told: dict[str, Impact], orders: Mapping[str, Impact]) -> tuple[str, ...]:
        """See whether another seed changes what no site does: then the orders of sets are to blame together."""
        sets = [key for key in orders if orders[key].category == "set-order" and key in told]
        if self._seeds is None or any(key in told and told[key].effect is not None for key in sets):
            return ()
        for number, outcome in enumerate(self._seeds.outcomes(), start=1):
            if outcome.problem not in {None, HANGS}:
                said = f"a replay with another seed of hashes {outcome.problem}"
                return (f"{said}, so the orders of sets were tried one by one only (untried-seeds)",)
            found = difference(self._baseline, outcome)
            if found is not None:
                return (self._blame(told, sets, found, number),)
        return ()

    def _blame(self, told: dict[str, Impact], sets: Sequence[str], found: Effect, number: int) -> str:
        said = (
            f"another seed of hashes {found.what} (was {found.before!r}, is now {found.after!r}), and no order of a set"
            " does alone"
        )
        if self._asked.site is not None:
            return f"{said}; only {self._asked.site} was tried (unexplained-order)"
        suspects = self._agreement.suspects(sets)
        if not suspects:
            return f"{said}, nor is one known that could (unexplained-order)"
        what = found.what if len(suspects) < 2 else f"{found.what} (this or another order of a set)"
        effect = Effect(what, found.before, found.after)
        for key in suspects:
            told[key] = _with(told[key], variants=number, effect=effect)
        return f"{said}, so those are called harmful together (unexplained-order)"


def _untried(finding: Finding, *, is_replaceable: bool) -> str | None:
    """Say why no other values of a site can be tried."""
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
    site: Impact, *, variants: int = 0, effect: Effect | None = None, untried: str | None = None
) -> Impact:
    return Impact(
        site=site.site,
        category=site.category,
        call=site.call,
        count=site.count,
        tier=site.tier,
        via=site.via,
        variants=variants,
        effect=effect,
        untried=untried,
    )


def _imports_of(path: str | None, owns: Callable[[str], bool]) -> list[str]:
    """Return what of others a program imports first, so that its first replay, too, finds what takes long to import."""
    source = None if path is None else read_source(path)
    try:
        body = [] if source is None else ast.parse(source).body
    except (SyntaxError, ValueError):  # the replay says it
        return []
    names = [alias.name for each in body if isinstance(each, ast.Import) for alias in each.names]
    names += [
        each.module for each in body if isinstance(each, ast.ImportFrom) and each.module and not each.level
    ]
    beside = os.path.dirname(os.path.realpath(path or ""))
    return [name for name in dict.fromkeys(names) if _is_of_others(name.partition(".")[0], beside, owns)]


def _is_of_others(package: str, beside: str, owns: Callable[[str], bool]) -> bool:
    """Return whether a package is neither the project's nor hidden by what lies beside the program."""
    if any(os.path.exists(os.path.join(beside, name)) for name in (package, f"{package}.py")):
        return False
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return False
    places = () if spec is None else (spec.origin or "", *(spec.submodule_search_locations or ()))
    return spec is not None and not any(owns(place) for place in places)


def _preload(modules: Sequence[str]) -> None:
    """Import what the program imports, for each replay to find it."""
    for name in modules:
        try:
            importlib.import_module(name)
        except BaseException:  # noqa: S112 - the program has imported it in another way, and does so again
            continue
    # What is there by now is not gone through again in each fork, which would copy the memory that it lies in.
    gc.freeze()

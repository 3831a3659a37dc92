"""The weaving of this process: installed once for a set of rules with all hooks, and removed as a whole."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import CodeType
from typing import TYPE_CHECKING, Any

from autochron import __version__
from autochron._runtime.finalization import keep_modules_at_exit
from autochron._runtime.unpatched import os
from autochron.crossing import processes
from autochron.crossing.lane_hooks import LaneHooks
from autochron.crossing.processes import ProcessHooks
from autochron.instrument.code_runners import RUNNERS, Runners
from autochron.instrument.decorators import marked
from autochron.instrument.found_functions import FoundFunctions
from autochron.instrument.rule_applier import RulePlanner, program_paths
from autochron.isolation import network
from autochron.isolation.event_loops import LOOPS, can_be_watched, watch_loops
from autochron.model import Rules
from autochron.project import Project
from autochron.weaving.assembler_choice import IS_VERIFIED
from autochron.weaving.code_cache import CodeCache, default_folder, version_of_code
from autochron.weaving.hook import Hook
from autochron.weaving.ledger import Ledger
from autochron.weaving.weave import Functions, has_woven

if TYPE_CHECKING:
    from autochron.ambient.ambient import Values
    from autochron.model import Envelope
    from autochron.weaving.gate import Point

_PROCESSES = "multiprocessing.process"


class Activation:
    """One set of rules, woven in.

    Attributes:
        program: the file of the program; None if there is none.
        project: which files are the user's own code.
        ledger: what is woven, and what is not and why.
        planner: applies the rules to modules.
        runners: weave code that does not pass the import hook.
        values: the ambient values that are recorded and served; None as long as nobody asks for any.
    """

    def __init__(self, rules: Rules, program: str | None = None) -> None:
        if not IS_VERIFIED:
            from autochron.weaving import probing  # lazy: only on a Python that is newer than this autochron

            probing.refused()  # now, before anything is watched, since it starts processes
        self._own_rules = rules
        self.program = program
        self.project = Project(program_paths(rules, program), rules.root)
        self.ledger = Ledger()
        self.planner = RulePlanner(rules, self.project, self.ledger)
        self._hook = Hook(self.planner, self.ledger, self._code_cache(rules, default_folder()))
        self.runners = Runners(self._hook, self.planner)
        self.planner.watched = RUNNERS
        self._lanes = LaneHooks()
        self._processes = ProcessHooks() if rules.children else None
        self._undo: list[Callable[[], None]] = []
        self._sites: dict[str, list[Point]] = {}
        self._sites_read = 0
        """Number of the ledger's points that `_sites` has."""
        self.values: Values | None = None
        self.found = FoundFunctions(self.ledger)
        """The functions of tools that no rule names."""

    def _code_cache(self, rules: Rules, folder: str | None) -> CodeCache | None:
        if folder is None or not rules.digest:
            return None
        key = (__version__, version_of_code(), rules.digest, rules.root, rules.file, self.project.paths)
        return CodeCache(folder, key)

    @property
    def cache_refusal(self) -> str | None:
        """Why the folder of woven code is not used although it exists; None or empty if there is nothing to report."""
        cache = self._hook.cache
        return f"{cache.refusal} (unsafe-cache)" if cache is not None and cache.refusal else None

    def replace_code(self, replace: Callable[[str, CodeType], CodeType] | None, folder: str | None) -> None:
        """Weave other code than what Python loads, with a cache of its own.

        Args:
            replace: returns the code to weave, from the file's path and the code that Python loads; None to weave the
                latter.
            folder: the folder of the cache; None for no cache.
        """
        self._hook.replace_code = replace
        self._hook.cache = self._code_cache(self._own_rules, folder)

    @property
    def hook(self) -> Hook:
        """The import hook, for code that is compiled elsewhere."""
        return self._hook

    @property
    def rules(self) -> Rules:
        """The rules, including the packs whose libraries were imported."""
        return self.planner.rules

    def ruled_names(self) -> set[str]:
        """Return the names of the functions that rules of the project cover now.

        Not those of the boundaries: a tool of that name may have another function, too, which replaces the first.
        """
        return {
            point.qualname.rpartition(".")[2]
            for point in (*self.ledger.points, *marked.points)
            if any(rule.pack is None and not rule.is_found for rule in point.rules)
        }

    def points_at(self, site: str) -> Sequence[Point]:
        """Return what is woven at a site, which is named as in a trace."""
        points = self.ledger.points
        if len(points) > self._sites_read:
            for point in points[self._sites_read :]:
                file = self.project.name(point.file) if self.project.owns(point.file) else point.module
                self._sites.setdefault(f"{file}:{point.qualname}", []).append(point)
            self._sites_read = len(points)
        return self._sites.get(site, ())

    def state_of(self, envelope: Envelope) -> str | None:
        """Return the state that the rules of today have a recorded crossing share with others."""
        site = envelope.site
        points = self._marked_at(site) if site.startswith("@") else self.points_at(site)
        states = (rule.state for point in points for rule in point.rules)
        return next((state for state in states if state is not None), None)

    def _marked_at(self, site: str) -> list[Point]:
        """Return the boundaries that are marked by hand at a site."""
        project, qualname = self.project, site.rpartition(":")[2]
        return [
            point
            for point in marked.points
            if point.qualname == qualname
            and site[1:]
            == f"{project.name(point.file) if project.owns(point.file) else point.module}:{qualname}"
        ]

    def weaves(self, rules: Rules, program: str | None) -> bool:
        """Return whether this is the weaving of the same rules, for the same program."""
        own = self._own_rules
        if own is rules and self.program == program:
            return True
        return (own.digest, own.root, own.file, own.project, own.children, own.swaps, self.program) == (
            rules.digest,
            rules.root,
            rules.file,
            rules.project,
            rules.children,
            rules.swaps,
            program,
        )

    def install(self, functions: Functions) -> None:
        """Weave the modules that are imported already, and install all hooks."""
        for name, module in list(sys.modules.items()):
            if name == "__main__" and self.program is not None:
                continue  # autochron's own main module; the program's is loaded later
            if getattr(module, "__name__", None) is not None:
                self._hook.weave_imported(name, module, functions)
        self._hook.install()
        self._undo.append(self._lanes.install())
        if self._processes is not None:
            self._undo.append(self._processes.install())
        self.runners.hold()
        self._undo.append(self.runners.uninstall)
        self._watch_processes()
        self._watch_loops()
        self.planner.on_import = self._imported
        processes.on_main.append(self._weave_main)
        if self._own_rules.ambient or self._own_rules.ambients:
            self.ambient_values()

    def ambient_values(self) -> Values:
        """Have ambient values recorded and served until the weaving is removed."""
        if self.values is None:
            from autochron.ambient.ambient import Values  # lazy: few rules ask for any

            self.values = Values(self._own_rules, self.project)
            self._hook.on_executed = self.values.watch.imported
            self.values.begin()
        return self.values

    def hold(self) -> None:
        """Make our hooks the outermost again, in case others have been put on or removed since."""
        self._lanes.hold()
        if self._processes is not None:
            self._processes.hold()
        self._watch_processes()

    def _imported(self, module: str) -> None:
        if module == _PROCESSES:
            self._watch_processes()
        elif module in processes.MODULES:
            if self._processes is not None:
                self._processes.imported(module)
        elif module in RUNNERS:
            self.runners.hold()
        else:
            self._lanes.imported(module)
            self._watch_loops()

    def _weave_main(self, name: str, file: str | None, code: Any) -> Any:
        """Weave the main module, which a process of `multiprocessing` loads under another name."""
        if has_woven(code):  # `runpy` has read the file, and it was woven by its own name
            return code
        stem = os.path.splitext(os.path.basename(file or ""))[0]
        self.planner.aliases[name] = ("__main__", stem)
        return self._hook.weave(name, file, code)

    def _watch_processes(self) -> None:
        module = sys.modules.get(_PROCESSES)
        if module is not None and not network.are_watched(module):
            self._undo.append(network.watch_processes())

    def _watch_loops(self) -> None:
        for module in LOOPS:
            if can_be_watched(module):
                self._undo.append(watch_loops(module))

    def uninstall(self, functions: Functions) -> None:
        """Remove all weaving."""
        self.planner.on_import = None
        if self.values is not None:
            self._hook.on_executed = None
            self.values.watch.off()
        if self._weave_main in processes.on_main:
            processes.on_main.remove(self._weave_main)
        while self._undo:
            self._undo.pop()()
        self._hook.uninstall(functions)
        self.planner.passing.undo()
        self.found.undo()
        while self.planner.undo:
            self.planner.undo.pop()()


_active: Activation | None = None


def activate(
    rules: Rules, program: str | None = None, *, aliases: dict[str, tuple[str, ...]] | None = None
) -> Activation:
    """Weave by these rules. What the same rules have woven already stays as it is.

    Weaving outlives a `record` or `replay` block: with no handler in force woven code costs a few nanoseconds, and the
    next block finds it in place.

    Args:
        rules: the rules.
        program: the file of the program.
        aliases: other names of modules, such as of `__main__`.
    """
    global _active  # noqa: PLW0603 - weaving belongs to the process
    if "AUTOCHRON_OVERLAY" in os.environ:
        from autochron.instrument import source_overlay  # lazy: only trials of mutants need it

        source_overlay.take_over()
    if _active is not None and _active.weaves(rules, program):
        return _active
    functions = Functions()
    keep_modules_at_exit()
    if _active is not None:
        _active.uninstall(functions)
    _active = Activation(rules, program)
    _active.planner.aliases.update(aliases or {})
    _active.install(functions)
    return _active


def deactivate() -> None:
    """Remove all weaving."""
    global _active  # noqa: PLW0603 - weaving belongs to the process
    if _active is not None:
        _active.uninstall(Functions())
        _active = None

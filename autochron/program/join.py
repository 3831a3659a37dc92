"""A child process that joins the session of another process: it records into that trace, or is served from it."""

from __future__ import annotations

import atexit
import sys
from typing import Any

from msgspec import structs

from autochron._runtime import exit_hooks, std_streams, unpatched
from autochron._runtime.unpatched import os
from autochron.crossing import processes
from autochron.crossing.lanes import CHILD
from autochron.effects.snapshots import SnapshotFolder
from autochron.errors import AutochronError, StoreError
from autochron.finding.rules import read_tools, with_tools
from autochron.instrument.activation import Activation, activate
from autochron.instrument.swap import Swap, read_swaps, with_swaps
from autochron.isolation.live_observation import StateScope
from autochron.model import Command, Header
from autochron.program.main_module import Program, end_process
from autochron.program.run import weave_into
from autochron.redaction.redactor import Redactor
from autochron.replaying.child_reports import claim
from autochron.replaying.plan import read_plan
from autochron.replaying.replay_folder import FOUND, PLAN, SWAPS, TRACE
from autochron.rules.loading import load_rules
from autochron.session.children import UNKNOWN, ChildContext, read_context
from autochron.session.recording import Joined, Recording
from autochron.session.replayed_processes import JoinedLane
from autochron.session.replaying import Replaying
from autochron.store import open_store, process_of
from autochron.store.detached import start_all


class Joining:
    """A child process that is about to join a session."""

    def __init__(self, context: ChildContext) -> None:
        self._context = context
        label = processes.label_for(sys.orig_argv[0], sys.orig_argv)
        has_own_lane = context.lane.rpartition("/")[2].rpartition(".")[0] == f"{CHILD}{label}"
        self._label = "" if has_own_lane else f"{UNKNOWN}{label}"
        """The name of our lane below the one of the context; empty where that is our own lane, and not that of a shell."""
        self._activation: Activation
        self._swaps: tuple[Swap, ...] = ()
        self._program: Program | None = None
        self._status: int | None = None
        self._process = unpatched.getpid()
        self._session: Recording | Replaying | None = None
        self._is_prompt = context.mode == "replay"
        """Whether everything is written at once, so that nothing is lost if a signal kills the process. That holds for the
        reports of a replay, and for what a process of `multiprocessing` records."""

    def wait(self) -> None:
        """Weave now, and begin when `multiprocessing` delivers the context of this process."""
        self.weave()
        self._is_prompt = True
        processes.on_arrival.append(self._arrived)

    def weave(self) -> None:
        """Weave by the parent's rules.

        Raises:
            StoreError: the rule file was changed since the recording began.
        """
        context = self._context
        rules = load_rules(context.rules, root=context.root or None)
        if context.mode == "record" and rules.digest != context.digest:
            raise StoreError(f"the rules in {context.rules} are others than when the run began")
        if context.mode == "replay":
            self._swaps = read_swaps(os.path.join(context.place, SWAPS), rules)
            rules = with_swaps(with_tools(rules, read_tools(os.path.join(context.place, FOUND))), self._swaps)
        if context.project:
            rules = structs.replace(rules, project=context.project)
        self._activation = activate(rules, context.program)

    def run(self, event: str, path: Any) -> None:
        """Begin; run a script in the place of the interpreter, which would run it past the import hook.

        Args:
            event: audit event of what is about to run.
            path: path of the script, if the event is `cpython.run_file`.

        Raises:
            SystemExit: always after a script, with its exit status.
        """
        if event != "cpython.run_file":
            self.begin()
            return
        try:
            file, shown = (
                os.fsdecode(path),
                sys.argv[0],
            )  # Python makes the path absolute; the trace keeps it as typed
            target = shown if os.path.abspath(shown) == os.path.abspath(file) else file
            program = Program(Command("script", target, tuple(sys.argv[1:])))
        except AutochronError:  # Python itself reports what it can't run
            return
        self._activation.planner.aliases["__main__"] = program.aliases
        self.begin()
        self._status = status = program.run(weave_into(self._activation, program))  # type: ignore[arg-type]
        if (system_exit := program.let_go()) is not None:
            raise system_exit
        raise SystemExit(status)

    def _arrived(self, text: str) -> None:
        context = read_context(text)
        if context is not None and self._session is None:
            self._context, self._label = context, ""
            self._process = unpatched.getpid()  # differs from that of `__init__` in a fork of the fork server
            self.begin()

    def begin(self) -> None:
        """Begin to record, or to serve.

        If a replay's folder is gone, the process ends with status 2: nothing of it may run for real.
        """
        try:
            self._session = self._recording() if self._context.mode == "record" else self._replaying()
        except (AutochronError, OSError) as error:
            if self._context.mode == "replay":
                sys.stderr.write(f"autochron: a process of a replay that is over was started: {error}\n")
                unpatched.immediate_exit(2)
            return  # no message, for the streams are the program's: the parent reports that it is not recorded
        exit_hooks.guard(self._flush, signals=not self._is_prompt)
        atexit.register(self._finish)
        if self._is_prompt and isinstance(self._session, Recording):
            self._session.take_no_time()
        self._session.begin()
        if self._context.watch and isinstance(self._session, Recording):
            self._session.watch()

    def _context_for_children(self, lane: str) -> ChildContext:
        """Return the context of processes that this one starts unseen."""
        context = self._context
        seq = context.seq if context.live else None  # what a live process starts is live, too
        return structs.replace(context, process=unpatched.getpid(), lane=lane, seq=seq)

    def _recording(self) -> Recording:
        context = self._context
        store = open_store(context.place)
        start_all(*process_of(store))
        sink, lane, first = store.join(context.trace, context.lane, self._label)
        header = Header(
            id=context.trace,
            created="",
            command=Command("block", ""),
            rules=context.digest,
            children=True,
            typed=True,
            numbered=True,
        )
        durability: Any = "sync" if context.sync else "group"
        joined = Joined(sink, lane, first, context)
        recording = Recording(self._activation, store, header, durability=durability, joined=joined)
        recording.is_guarded = True
        if context.only_failed:
            recording.keep_failed()
        std_streams.listen_to_prints(recording.printed)
        return recording

    def _replaying(self) -> Replaying:
        context = self._context
        lane = claim(context.place, context.lane, self._label)
        record = open_store(os.path.join(context.place, TRACE)).record("last")
        plan = read_plan(os.path.join(context.place, PLAN))
        serving = JoinedLane(lane, self._context_for_children(lane), context.parent)
        places = tuple(SnapshotFolder(folder) for folder in context.snapshots)
        scope = StateScope(places, everywhere=context.scratch is not None)
        return Replaying(
            self._activation,
            record,
            Redactor.of(self._activation.rules),
            plan,
            serving,
            swaps=self._swaps,
            scope=scope,
        )

    def _flush(self, status: int | None) -> None:
        """Write everything that waits, before the process ends without clean-up."""
        session = self._session
        if isinstance(session, Recording):
            session.flush(status)
        elif session is not None:
            session.leave()

    def _finish(self) -> None:
        """Write the footer, or report the end of the process."""
        session, is_original = self._session, unpatched.getpid() == self._process
        if isinstance(session, Replaying):
            session.leave()
        elif session is not None and is_original:
            session.end(self._status, None)
        elif session is not None:
            session.flush(None)
        if is_original and self._status is not None:
            end_process(self._status)

"""A process that takes part in what another one began: it records into that trace, or is served from it."""

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
from autochron.instrument.activation import Activation, activate
from autochron.instrument.swap import Swap, read_swaps, with_swaps
from autochron.isolation.live_observation import StateScope
from autochron.model import Command, Header
from autochron.program.main_module import Program, end_process
from autochron.program.run import weave_into
from autochron.redaction.redactor import Redactor
from autochron.replaying.child_reports import claim
from autochron.replaying.plan import read_plan
from autochron.replaying.replay_folder import PLAN, SWAPS, TRACE
from autochron.rules.loading import load_rules
from autochron.session.children import UNKNOWN, Handing, read_handing
from autochron.session.recording import Joined, Recording
from autochron.session.replayed_processes import JoinedLane
from autochron.session.replaying import Replaying
from autochron.store import open_store, process_of
from autochron.store.detached import start_all


class Joining:
    """A child process on its way into a session."""

    def __init__(self, handing: Handing) -> None:
        self._handing = handing
        label = processes.label_for(sys.orig_argv[0], sys.orig_argv)
        is_own = handing.lane.rpartition("/")[2].rpartition(".")[0] == f"{CHILD}{label}"
        self._label = "" if is_own else f"{UNKNOWN}{label}"
        """The name of our lane below the one that was given on; empty where that is ours, and not that of a shell."""
        self._activation: Activation
        self._swaps: tuple[Swap, ...] = ()
        self._program: Program | None = None
        self._status: int | None = None
        self._process = unpatched.getpid()
        self._session: Recording | Replaying | None = None
        self._is_prompt = handing.mode == "replay"
        """Whether there is nothing to write before a signal kills: reports are written at once, and so is what a process
        of multiprocessing records."""

    def wait(self) -> None:
        """Weave now, and begin when multiprocessing says what this process is."""
        self.weave()
        self._is_prompt = True
        processes.on_arrival.append(self._arrived)

    def weave(self) -> None:
        """Weave by the parent's rules; StoreError where they are others by now."""
        handing = self._handing
        rules = load_rules(handing.rules, root=handing.root or None)
        if handing.mode == "record" and rules.digest != handing.digest:
            raise StoreError(f"the rules in {handing.rules} are others than when the run began")
        if handing.mode == "replay":
            self._swaps = read_swaps(os.path.join(handing.place, SWAPS), rules)
            rules = with_swaps(rules, self._swaps)
        self._activation = activate(rules, handing.program)

    def run(self, event: str, path: Any) -> None:
        """Begin, and run the program in the place of the interpreter if that would run it past the import hook."""
        if event != "cpython.run_file":
            self.begin()
            return
        try:
            file, shown = os.fsdecode(path), sys.argv[0]  # as it was given, where Python has made it absolute
            target = shown if os.path.abspath(shown) == os.path.abspath(file) else file
            program = Program(Command("script", target, tuple(sys.argv[1:])))
        except AutochronError:  # Python says what it can't run
            return
        self._activation.planner.aliases["__main__"] = program.aliases
        self.begin()
        self._status = status = program.run(weave_into(self._activation, program))  # type: ignore[arg-type]
        if (left := program.let_go()) is not None:
            raise left
        raise SystemExit(status)

    def _arrived(self, told: str) -> None:
        handing = read_handing(told)
        if handing is not None and self._session is None:
            self._handing, self._label = handing, ""
            self._process = unpatched.getpid()  # a fork of the server's
            self.begin()

    def begin(self) -> None:
        """Begin to record, or to serve. Where a replay's folder is gone nothing may run for real, so the process ends."""
        try:
            self._session = self._recording() if self._handing.mode == "record" else self._replaying()
        except (AutochronError, OSError) as error:
            if self._handing.mode == "replay":
                sys.stderr.write(f"autochron: a process of a replay that is over was started: {error}\n")
                unpatched.immediate_exit(2)
            return  # its streams are its own: who started it names it as one that is not recorded
        exit_hooks.guard(self._flush, signals=not self._is_prompt)
        atexit.register(self._finish)
        if self._is_prompt and isinstance(self._session, Recording):
            self._session.take_no_time()
        self._session.begin()
        if self._handing.watch and isinstance(self._session, Recording):
            self._session.watch()

    def _own(self, lane: str) -> Handing:
        """Return what the processes are told that this one starts, unless it is seen how."""
        handing = self._handing
        seq = handing.seq if handing.live else None  # all that it starts is live, too
        return structs.replace(handing, process=unpatched.getpid(), lane=lane, seq=seq)

    def _recording(self) -> Recording:
        handing = self._handing
        store = open_store(handing.place)
        start_all(*process_of(store))
        sink, lane, first = store.join(handing.trace, handing.lane, self._label)
        header = Header(
            id=handing.trace,
            created="",
            command=Command("block", ""),
            rules=handing.digest,
            children=True,
            typed=True,
        )
        durability: Any = "sync" if handing.sync else "group"
        joined = Joined(sink, lane, first, handing)
        recording = Recording(self._activation, store, header, durability=durability, joined=joined)
        recording.is_guarded = True
        if handing.only_failed:
            recording.keep_failed()
        std_streams.listen_to_prints(recording.printed)
        return recording

    def _replaying(self) -> Replaying:
        handing = self._handing
        lane = claim(handing.place, handing.lane, self._label)
        record = open_store(os.path.join(handing.place, TRACE)).record("last")
        plan = read_plan(os.path.join(handing.place, PLAN))
        serving = JoinedLane(lane, self._own(lane), handing.parent)
        places = tuple(SnapshotFolder(each) for each in handing.snapshots)
        scope = StateScope(places, everywhere=handing.scratch is not None)
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
        """Write what waits before the process ends without clean-up."""
        session = self._session
        if isinstance(session, Recording):
            session.flush(status)
        elif session is not None:
            session.leave()

    def _finish(self) -> None:
        """Write the last word."""
        session, is_own = self._session, unpatched.getpid() == self._process
        if isinstance(session, Replaying):
            session.leave()
        elif session is not None and is_own:
            session.end(self._status, None)
        elif session is not None:
            session.flush(None)
        if is_own and self._status is not None:
            end_process(self._status)

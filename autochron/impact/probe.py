"""One replay of many, in a process of its own: it says through a pipe what was given to boundaries, and how it ended."""

from __future__ import annotations

import atexit
import pickle
import struct
import sys
import threading
import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from autochron._runtime import exit_hooks, unpatched
from autochron._runtime.unpatched import os
from autochron.detect.line_hash import hash_of
from autochron.impact.order_perturbation import NOTHING, Ordered, Ordering, ProjectSources
from autochron.impact.tape import Perturbing, Tape
from autochron.isolation.tls import skip_ca_loading
from autochron.model import Finding
from autochron.program.main_module import Program, end_process
from autochron.program.run import weave_into
from autochron.redaction.redactor import Redactor
from autochron.replaying.plan import FULL
from autochron.session.replaying import Replaying
from autochron.stdio.capture import Capture
from autochron.workers.ending import kill_child
from autochron.workers.fork import fork_process
from autochron.workers.pipes import deadline_after, read_part, write_all
from autochron.workers.silence import silence

if TYPE_CHECKING:
    from autochron.instrument.activation import Activation
    from autochron.model import Command
    from autochron.ports import Record, Replayer

_LENGTH = struct.Struct(">Q")


class Met(NamedTuple):
    """A crossing of a replay."""

    lane: str
    address: str
    input: bytes


class Outcome(NamedTuple):
    """What one replay came to."""

    met: tuple[Met, ...]
    stdout: bytes
    status: int | None
    uncaught: str | None
    faults: tuple[str, ...]
    """Where it could not be served."""
    findings: tuple[Finding, ...]
    tape: Tape
    modules: tuple[str, ...]
    """Those that it has imported, the project's left out."""
    files: tuple[str, ...]
    """Of the project's modules."""
    replaceable: frozenset[str]
    """The sites whose values can be replaced."""
    varied: frozenset[str]
    """The sites that gave other values."""
    ordered: Ordered = NOTHING
    """What became of orders of sets and places in memory."""
    problem: str | None = None
    """Why there is no outcome."""


def none(problem: str) -> Outcome:
    """Return the outcome of a replay that came to none."""
    return Outcome((), b"", None, None, (), (), {}, (), (), frozenset(), frozenset(), problem=problem)


class _Telling(Redactor):
    """Masks inputs so that two which differ in what is masked are told apart, and no secret is told."""

    def mask_input(self, key: object, body: bytes) -> bytes:
        """Put a hash beside the mask."""
        masked = super().mask_input(key, body)
        if masked == body or not masked.endswith(b"}") or len(masked) < 3:
            return masked
        return masked[:-1] + b',"(masked)":"' + hash_of(body.decode("utf-8", "replace")).encode() + b'"}'


class Probe:
    """A program that is replayed again and again."""

    def __init__(
        self, activation: Activation, record: Record, command: Command, path: str | None = None
    ) -> None:
        """Take `path`, the file that the program begins in, where that is known."""
        self.path = path
        self.owns = activation.project.owns
        self.sources: ProjectSources | None = ProjectSources(activation.project)
        """What the project's modules are compiled from; None where they run as they are."""
        self.folder = ""
        """Where their woven code is kept."""
        self._activation = activation
        self._record = record
        self._command = command

    def forked(self, tape: Tape | None, variants: Mapping[str, int], timeout: float) -> Outcome:
        """Replay in a fork of this process, and give what that says."""
        reading, writing = os.pipe()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        with (
            warnings.catch_warnings()
        ):  # Python warns of threads; a library that starts some when imported is no concern
            warnings.simplefilter("ignore", DeprecationWarning)
            process = fork_process()
        if process == 0:
            try:
                os.setpgid(0, 0)
                os.close(reading)
                silence()
                self.here(tape, variants, lambda outcome: _send(writing, outcome))
            except BaseException as error:
                _send(writing, none(f"can't be replayed ({type(error).__name__}: {error})"))
            finally:
                unpatched.immediate_exit(1)
        os.close(writing)
        try:
            return _heard(reading, timeout)
        finally:
            os.close(reading)
            kill_child(process, with_group=True)

    def _perturb(self, tape: Tape | None, variants: Mapping[str, int]) -> Perturbing:
        """Have the values of a tape served from now on, but for those that vary."""
        activation = self._activation
        if activation.values is not None:
            activation.values.watch.off()
        values = Perturbing(activation.rules, activation.project, tape, variants)
        activation.values = values
        activation.hook.on_executed = values.watch.imported
        values.begin()
        return values

    def here(self, tape: Tape | None, variants: Mapping[str, int], send: Callable[[Outcome], None]) -> None:
        """Replay in this process, which ends with it."""
        activation, before = self._activation, set(sys.modules)
        values = self._perturb(tape, variants)
        skip_ca_loading()
        ordering = Ordering(values)
        if self.sources is not None:
            ordering.begin()
            activation.load_instead(self.sources.code, self.folder)
        program = Program(self._command)
        replayer: Replayer = Replaying(activation, self._record, _Telling(), FULL)
        capture = Capture()
        footer = self._record.footer
        own = unpatched.getpid()
        done: list[bool] = []

        def finish(status: int | None, uncaught: str | None = None) -> None:
            if done:
                return
            done.append(True)
            capture.stop()
            ordered = NOTHING if self.sources is None else ordering.told(self.sources.keys)
            outcome = _outcome(replayer, self.owns, values, capture, before, status, uncaught)
            send(outcome._replace(ordered=ordered))

        def cut_short(status: int | None) -> None:
            if unpatched.getpid() != own:
                replayer.leave()
                return
            finish(status)
            unpatched.immediate_exit(0)

        exit_hooks.guard(cut_short)
        replayer.before_exec = lambda: cut_short(None)
        capture.serve_recorded(footer)
        capture.start()
        replayer.begin()
        replayer.watch()
        status = program.run(weave_into(activation, program))  # type: ignore[arg-type]
        if unpatched.getpid() != own:  # a process that the program has forked
            replayer.leave()
            end_process(status)
            unpatched.immediate_exit(status & 255)
        threading._shutdown()  # type: ignore[attr-defined]  # noqa: SLF001
        atexit._run_exitfuncs()  # noqa: SLF001
        finish(status, program.uncaught)
        unpatched.immediate_exit(0)


def _outcome(
    replayer: Replayer,
    owns: Callable[[str], bool],
    values: Perturbing,
    capture: Capture,
    before: set[str],
    status: int | None,
    uncaught: str | None,
) -> Outcome:
    findings = replayer.findings()
    replayer.finish()
    files = {
        name: file
        for name, module in list(sys.modules.items())
        if isinstance(file := getattr(module, "__file__", None), str) and owns(file)
    }
    new = [name for name in sys.modules if name not in before and name not in files and name != "__main__"]
    met = [
        Met(each.envelope.lane, each.envelope.address, each.envelope.input)
        for each in replayer.replayed()
        if each.envelope.kind != "ambient"
    ]
    faults = [
        f"{each.message} ({each.kind})"
        for each in replayer.divergences()
        if each.severity == "error" and each.kind not in _EXPECTED
    ]
    return Outcome(
        tuple(met),
        capture.stdout.data,
        status,
        uncaught,
        tuple(faults),
        findings,
        values.tape if values.is_first else {},
        tuple(new),
        tuple(dict.fromkeys(files.values())),
        frozenset(values.replaceable),
        frozenset(values.varied),
    )


_EXPECTED = frozenset({"missing", "input", "output", "status", "invented"})
"""What a value that isn't recorded may well change."""


def packed(outcome: Outcome) -> bytes:
    """Return an outcome as it goes through a pipe."""
    return pickle.dumps(outcome)


def unpacked(data: bytes) -> Outcome:
    """Read what `packed` has written."""
    outcome: Outcome = pickle.loads(data)  # noqa: S301 - of a process that this command has started
    return outcome


def _send(descriptor: int, outcome: Outcome) -> None:
    data = packed(outcome)
    write_all(descriptor, _LENGTH.pack(len(data)) + data)


def _heard(descriptor: int, timeout: float) -> Outcome:
    """Read what a process says, until it has said it all, or has died, or the time is over."""
    deadline = deadline_after(timeout)
    data = bytearray()
    while True:
        part = read_part(descriptor, deadline)
        if part is None:
            return none(HANGS)
        if not part:
            return none(DIES)
        data += part
        if len(data) >= _LENGTH.size and len(data) >= _LENGTH.size + _LENGTH.unpack_from(data)[0]:
            return unpacked(bytes(data[_LENGTH.size :]))


HANGS = "doesn't end"
DIES = "dies"

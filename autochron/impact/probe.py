"""One of many replays, in a process of its own, which reports the inputs of its crossings and its end through a pipe."""

from __future__ import annotations

import atexit
import datetime as dt
import pickle
import struct
import sys
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from autochron._runtime import exit_hooks, unpatched
from autochron._runtime.unpatched import os
from autochron.detect.line_hash import hash_of
from autochron.impact.order_perturbation import NOTHING, Ordering, OrderReport, ProjectSources
from autochron.impact.tape import Perturbing, Tape
from autochron.isolation.tls import defer_ca_loading
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
    from autochron.impact.branch_conditions import Condition
    from autochron.instrument.activation import Activation
    from autochron.model import Command
    from autochron.ports import Record, Replayer

_LENGTH = struct.Struct(">Q")


class MetCrossing(NamedTuple):
    """A crossing of a replay, with its canonical input."""

    lane: str
    address: str
    input: bytes


class Outcome(NamedTuple):
    """The result of one replay."""

    met: tuple[MetCrossing, ...]
    stdout: bytes
    status: int | None
    uncaught: str | None
    faults: tuple[str, ...]
    """Divergences because of which a crossing could not be served, as messages."""
    findings: tuple[Finding, ...]
    tape: Tape
    modules: tuple[str, ...]
    """The modules that it imported, without those of the project."""
    files: tuple[str, ...]
    """The files of the project's modules."""
    replaceable: frozenset[str]
    """The sites whose values can be replaced."""
    varied: frozenset[str]
    """The sites that gave other values than the tape's."""
    changes: Mapping[str, tuple[str, str]]
    """The first value of each perturbed site, and the one that it gave instead, as text."""
    ordered: OrderReport = NOTHING
    """What was observed at set orders and addresses."""
    problem: str | None = None
    """Why there is no result, as a verb phrase such as `doesn't end`."""


def failed_outcome(problem: str) -> Outcome:
    """Return the outcome of a replay that has no result."""
    return Outcome((), b"", None, None, (), (), {}, (), (), frozenset(), frozenset(), {}, problem=problem)


class _DistinguishingRedactor(Redactor):
    """A redactor that keeps two inputs distinct if they differ in masked values only, without revealing the values."""

    def mask_input(self, key: object, body: bytes) -> bytes:
        """Mask an input, and add a hash of the unmasked body if anything was masked."""
        masked = super().mask_input(key, body)
        if masked == body or not masked.endswith(b"}") or len(masked) < 3:
            return masked
        return masked[:-1] + b',"(masked)":"' + hash_of(body.decode("utf-8", "replace")).encode() + b'"}'


class Probe:
    """A program that is replayed many times.

    Attributes:
        path: the file that the program begins in; None where it isn't known.
        owns: returns whether a file is the project's.
        name_of: returns the name that sites have for a file.
        sources: the project's rewritten modules; None where the modules run as they are.
        folder: where woven code is kept.
        scratch: where files with other content are written.
        words: those that the program looks for in contents and answers, by the site's key.
        attempt: the seed of values that are not on the tape.
        conditions: those that single sites decide, by the site's key.
        single: whether each perturbed site gives another value for its first call only.
    """

    def __init__(
        self, activation: Activation, record: Record, command: Command, path: str | None = None
    ) -> None:
        self.path = path
        self.owns = activation.project.owns
        self.name_of = activation.project.name
        self.sources: ProjectSources | None = ProjectSources(activation.project)
        self.folder = ""
        self.scratch = ""
        self.words: Mapping[str, tuple[str, ...]] = {}
        self.attempt = 0
        self.conditions: Mapping[str, Sequence[Condition]] = {}
        self.single = False
        self._activation = activation
        self._record = record
        self._command = command

    def forked(self, tape: Tape | None, variants: Mapping[str, int], timeout: float) -> Outcome:
        """Replay in a fork of this process, and return its outcome.

        Args:
            tape: the values to serve; None for the first replay, which fills the tape.
            variants: the variant of each site that is perturbed.
            timeout: seconds that the fork may take.
        """
        reading, writing = os.pipe()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        with warnings.catch_warnings():
            # Python warns of a fork beside other threads. Those of imported libraries do no harm here.
            warnings.simplefilter("ignore", DeprecationWarning)
            process = fork_process()
        if process == 0:
            try:
                os.setpgid(0, 0)
                os.close(reading)
                silence()
                self.here(tape, variants, lambda outcome: _send(writing, outcome))
            except BaseException as error:
                _send(writing, failed_outcome(f"can't be replayed ({type(error).__name__}: {error})"))
            finally:
                unpatched.immediate_exit(1)
        os.close(writing)
        try:
            return _receive(reading, timeout)
        finally:
            os.close(reading)
            kill_child(process, with_group=True)

    def _perturb(self, tape: Tape | None, variants: Mapping[str, int]) -> Perturbing:
        """Serve the values of a tape from now on, with these variants."""
        activation = self._activation
        if activation.values is not None:
            activation.values.watch.off()
        created = dt.datetime.fromisoformat(self._record.header.created or "1970-01-01T00:00:00Z")
        began = created.timestamp()
        values = Perturbing(
            activation.rules,
            activation.project,
            tape,
            variants,
            began,
            self.conditions,
            self.words,
            self.scratch,
            self.attempt,
        )
        values.single = self.single
        activation.values = values
        activation.hook.on_executed = values.watch.imported
        values.begin()
        return values

    def here(self, tape: Tape | None, variants: Mapping[str, int], send: Callable[[Outcome], None]) -> None:
        """Replay in this process, pass the outcome to `send`, and end the process. Other arguments are those of `forked`."""
        activation, modules_before = self._activation, set(sys.modules)
        values = self._perturb(tape, variants)
        defer_ca_loading()
        ordering = Ordering(values)
        if self.sources is not None:
            ordering.begin()
            activation.replace_code(self.sources.code, self.folder)
        program = Program(self._command)
        replayer: Replayer = Replaying(activation, self._record, _DistinguishingRedactor(), FULL)
        capture = Capture()
        process = unpatched.getpid()
        is_done = False

        def finish(status: int | None, uncaught: str | None = None) -> None:
            nonlocal is_done
            if is_done:
                return
            is_done = True
            capture.stop()
            ordered = NOTHING if self.sources is None else ordering.report(self.sources.keys)
            outcome = _outcome(replayer, self.owns, values, capture, modules_before, status, uncaught)
            send(_without_folder(outcome._replace(ordered=ordered), self.scratch))

        def cut_short(status: int | None) -> None:
            if unpatched.getpid() != process:
                replayer.leave()
                return
            finish(status)
            unpatched.immediate_exit(0)

        exit_hooks.guard(cut_short)
        replayer.before_exec = lambda: cut_short(None)
        capture.serve_recorded(self._record.footer)
        capture.start()
        replayer.begin()
        replayer.watch()
        status = program.run(weave_into(activation, program))  # type: ignore[arg-type]
        if unpatched.getpid() != process:  # a process that the program has forked
            replayer.leave()
            end_process(status)
            unpatched.immediate_exit(status & 255)
        threading._shutdown()  # type: ignore[attr-defined]  # noqa: SLF001
        atexit._run_exitfuncs()  # noqa: SLF001
        finish(status, program.uncaught)
        unpatched.immediate_exit(0)


def _without_folder(outcome: Outcome, folder: str) -> Outcome:
    """Return an outcome with the same text in place of a folder of this process, in which its temporary files are."""
    path = folder.encode()
    if not folder or (path not in outcome.stdout and not any(path in met.input for met in outcome.met)):
        return outcome
    met = tuple(one._replace(input=one.input.replace(path, _FOLDER)) for one in outcome.met)
    return outcome._replace(met=met, stdout=outcome.stdout.replace(path, _FOLDER))


_FOLDER = b"(scratch)"


def _outcome(
    replayer: Replayer,
    owns: Callable[[str], bool],
    values: Perturbing,
    capture: Capture,
    modules_before: set[str],
    status: int | None,
    uncaught: str | None,
) -> Outcome:
    """Finish the replay and return its outcome; `modules_before` are the modules that were loaded before it."""
    findings = replayer.findings()
    replayer.finish()
    files = {
        name: file
        for name, module in list(sys.modules.items())
        if isinstance(file := getattr(module, "__file__", None), str) and owns(file)
    }
    new = [
        name
        for name in sys.modules
        if name not in modules_before and name not in files and name != "__main__"
    ]
    met = [
        MetCrossing(crossing.envelope.lane, crossing.envelope.address, crossing.envelope.input)
        for crossing in replayer.replayed()
        if crossing.envelope.kind != "ambient"
    ]
    faults = [
        f"{divergence.message} ({divergence.kind})"
        for divergence in replayer.divergences()
        if divergence.severity == "error" and divergence.kind not in _EXPECTED
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
        values.changes,
    )


_EXPECTED = frozenset({"missing", "input", "output", "status", "invented"})
"""Kinds of divergence that an unrecorded value may cause, and that don't keep a crossing from being served."""


def packed(outcome: Outcome) -> bytes:
    """Return an outcome as bytes, for a pipe or a file."""
    return pickle.dumps(outcome)


def unpacked(data: bytes) -> Outcome:
    """Return the outcome that `packed` has turned into bytes."""
    outcome: Outcome = pickle.loads(data)  # noqa: S301 - from a process that this command has started
    return outcome


def _send(descriptor: int, outcome: Outcome) -> None:
    data = packed(outcome)
    write_all(descriptor, _LENGTH.pack(len(data)) + data)


def _receive(descriptor: int, timeout: float) -> Outcome:
    """Read an outcome from a pipe. If the process dies or `timeout` seconds pass, the outcome says so."""
    deadline = deadline_after(timeout)
    data = bytearray()
    while True:
        part = read_part(descriptor, deadline)
        if part is None:
            return failed_outcome(HANGS)
        if not part:
            return failed_outcome(DIES)
        data += part
        if len(data) >= _LENGTH.size and len(data) >= _LENGTH.size + _LENGTH.unpack_from(data)[0]:
            return unpacked(bytes(data[_LENGTH.size :]))


HANGS = "doesn't end"
DIES = "dies"

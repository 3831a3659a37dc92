"""A replayed program that runs, and its end: exit status and output are compared, reported, and made our own status."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from autochron._runtime import unpatched
from autochron._runtime.recursion import enough_frames
from autochron._runtime.unpatched import os
from autochron.model import ReplaySummary, Severity
from autochron.program.standstill import Standstill
from autochron.session.replaying import Replaying
from autochron.stdio.capture import Capture

if TYPE_CHECKING:
    from autochron.ports import Replayer
    from autochron.program.replayed_output import Writers
    from autochron.stdio.transcript import Transcript

ReportReplay: TypeAlias = "Callable[[ReplaySummary, Replayer], None]"
"""Shows the user the summary of a replay."""


class RunningReplay:
    """A replayed program that runs: at its end, exit status and output are compared, reported, and made our own status.

    Attributes:
        replaying: the session.
        capture: the captured standard streams.
        report_file: file for the report to the process that started this one; None if a user did.
        writers: who printed what; None if the output is not compared.
        broke: how the program crashed, if no refusal ended it.
        stopped: whether an error of autochron ended the program.
    """

    def __init__(
        self,
        replaying: Replaying,
        capture: Capture,
        report: ReportReplay,
        report_file: str | None,
        *,
        strict: bool = False,
    ) -> None:
        self.replaying = replaying
        self._strict = strict
        self.report_file = report_file
        if report_file is not None:
            open(report_file, "wb").close()  # tells that process that the program began
        self.capture = capture
        self._report = report
        self._process = unpatched.getpid()
        self.writers: Writers | None = None
        self.broke: str | None = None
        self.stopped = False
        self._standstill: Standstill | None = None
        self._has_ended = True
        """Whether the program ends by itself, and not because it stands still."""

    def watch_standstill(self) -> None:
        """Watch for a standstill of the program, and end it then."""
        self._standstill = Standstill(self.replaying.director, self._stand_still)
        self._standstill.begin()

    @property
    def is_forked(self) -> bool:
        """Whether this is a process that the program has forked."""
        return unpatched.getpid() != self._process

    def pause(self) -> None:
        """Stop what a fork would not inherit, until one goes on in the place of this process."""
        if self._standstill is not None:
            self._standstill.over()
        self.replaying.pause(for_several=True)

    def take_over(self, report_file: str, scratch: str) -> None:
        """Go on in a fork, in the place of the process that paused.

        Args:
            report_file: file for the report of this process.
            scratch: its scratch folder.
        """
        self._process = unpatched.getpid()
        self.report_file = report_file
        os.close(
            os.open(report_file, os.O_WRONLY | os.O_CREAT, 0o644)
        )  # tells that the program began, as above
        self.capture.take_over()
        self.replaying.take_over(scratch)
        self.watch_standstill()

    def _stand_still(self) -> None:
        """End a program that waits for ever. It has no exit status to compare."""
        self._has_ended = False
        self.cut_short(1)

    def finish(self, status: int | None, uncaught: str | None = None, *, flushes: bool = True) -> int:
        """Compare, and report.

        Args:
            status: exit status of the program; None if exec replaces it.
            uncaught: type of the exception that ended the program, if one did.
            flushes: whether the program's end flushes standard output.

        Returns:
            0 if replay and record agree, else 1.
        """
        with enough_frames():
            return self._finish(status, uncaught, flushes=flushes)

    def _finish(self, status: int | None, uncaught: str | None, *, flushes: bool) -> int:
        replaying = self.replaying
        if self._standstill is not None:
            self._standstill.over()
        self.capture.stop(flushes=flushes)
        if replaying.watching is not None:
            replaying.watching.end()
        replaying.finish()
        replaying.uncaught = uncaught
        replaying.broke = self.broke
        replaying.stopped = self.stopped
        transcript = self.capture.transcript()
        self.capture.let_go()
        if self._has_ended:
            compare_ending(replaying, status, self.capture, transcript, uncaught, self.writers)
        replaying.excuse_refusals()
        summary = replaying.summary(status or 0)
        if self.report_file is not None:
            from autochron.session.subprocess_replay import (
                write_report,
            )  # lazy: few replays have to write one

            write_report(
                self.report_file, summary, [replayed for replayed, _ in replaying.director.replayed()]
            )
        self._report(summary, replaying)
        if self._strict and summary.not_compared:
            return 1
        return 0 if summary.same else 1

    def cut_short(self, status: int | None) -> None:
        """Compare and report before the process ends without clean-up, and end it with our own status."""
        if self.is_forked:
            self.replaying.leave()
            return
        result = self.finish(status, flushes=False)
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError, AttributeError):
                pass
        unpatched.immediate_exit(result)


def compare_ending(
    replaying: Replaying,
    status: int | None,
    capture: Capture,
    transcript: Transcript,
    uncaught: str | None,
    writers: Writers | None,
) -> None:
    """Note differences of exit status and output.

    Args:
        replaying: the session.
        status: exit status of the program; None if exec replaced it.
        capture: the captured standard streams.
        transcript: what went through them.
        uncaught: type of the exception that ended the program, if one did.
        writers: who printed what; None if that is not known.
    """
    footer = replaying.record.footer
    if footer is None:
        return
    director = replaying.director
    # The output is a consequence of what was live. But a program that breaks now is not fixed.
    severity: Severity = "error" if replaying.plan.is_full else "consequence"
    breaks = uncaught is not None and not footer.status
    failed: Severity = "error" if replaying.plan.is_full or breaks else "warning"
    cause = f"; it broke on an uncaught {uncaught}" if uncaught else ""
    if footer.status is not None and footer.status != status:
        director.note(
            "status",
            "exit status",
            f"the program ended with status {status}; when it was recorded, with {footer.status}{cause}",
            severity=failed,
            recorded=str(footer.status),
            replayed=str(status),
        )
    from autochron.program.replayed_output import (
        compare_transcript,
    )  # lazy: needed only at the end of a program

    compare_transcript(replaying, footer, capture, transcript, severity, writers)

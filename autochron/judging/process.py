"""The judge's process, as seen from the program that asks.

A process of our own and not a call in the program's: a judge that is asked in the middle of a recorded or replayed block
shares none of its woven SDKs, transports, credentials or network guard.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from contextlib import suppress
from typing import IO, Any

import msgspec
from msgspec import Struct

from autochron.crossing.pausing import surroundings
from autochron.errors import JudgeError, JudgeSetupError, VerdictError
from autochron.judging.speakers import JudgeRequest
from autochron.redaction.redactor import Redactor
from autochron.workers.commands import start_python
from autochron.workers.pipes import LineChannel, WorkerDiedError

_PACKAGES = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_INSTALLED = frozenset({"site-packages", "dist-packages"})


class Answer(Struct, frozen=True):
    """What came back: a verdict with what it cost and how it was made, or an error."""

    score: float = 0.0
    reason: str = ""
    usage: dict[str, int] = {}
    sampling: dict[str, Any] = {}
    sdk: str = ""
    error: str = ""
    slug: str = ""


class JudgeProcess:
    """A process that answers questions, one at a time; it starts with the first one."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: LineChannel | None = None
        self._errors: IO[bytes] | None = None
        self._placeholders: tuple[str, ...] = ()

    def ask(self, model: str, prompt: str, base_url: str | None) -> Answer:
        """Ask one question; JudgeError and its kinds where there is no verdict."""
        process = self._process or self._start()
        assert self._channel is not None  # noqa: S101 - it starts with the process
        asking = JudgeRequest(model, prompt, base_url, self._placeholders)
        with suppress(WorkerDiedError):  # what it said last tells why
            self._channel.send(msgspec.json.encode(asking) + b"\n")
        try:
            line = self._channel.receive(None)
        except WorkerDiedError:
            raise JudgeSetupError(self._last_word(process)) from None
        answer = msgspec.json.decode(line, type=Answer)
        if answer.error:
            kinds = {each.slug: each for each in (JudgeSetupError, VerdictError)}
            # An endpoint's refusal may quote the key, and its address may hold one.
            raise kinds.get(answer.slug, JudgeError)(Redactor().mask_text(answer.error))
        return answer

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    try:
                        stream.close()
                    except OSError:  # it is gone already
                        pass
            process.terminate()
            process.wait()
        if self._errors is not None:
            self._errors.close()
            self._errors = None

    def _start(self) -> subprocess.Popen[bytes]:
        environment, self._placeholders = surroundings()
        if (
            os.path.basename(_PACKAGES) not in _INSTALLED
        ):  # a checkout, which the interpreter may not find by itself
            paths = (environment.get("PYTHONPATH"), _PACKAGES)
            environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - it lasts as long as the process
        self._process = process = start_python(
            # -P: what lies in the working folder is the program's, and no part of the judge.
            ["-P", "-m", "autochron.judging"],
            environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            own_session=False,  # Ctrl-C ends it with the program that asks
        )
        assert process.stdin is not None  # noqa: S101 - both are pipes
        assert process.stdout is not None  # noqa: S101
        self._channel = LineChannel(process.stdin.fileno(), process.stdout.fileno())
        return process

    def _last_word(self, process: subprocess.Popen[bytes]) -> str:
        status = process.wait()
        said = b""
        if self._errors is not None:
            self._errors.seek(0)
            said = self._errors.read()
        lines = said.decode("utf-8", "replace").strip().splitlines() or ["it said nothing"]
        return f"the judge's process ended with status {status}: {lines[-1]}; try again, and report it if it stays so"

"""The parent's side of the judge's process.

The judge runs in a process of its own, and not in the program's. It may be called in the middle of a recorded or replayed
block, and must share none of the block's woven SDKs, transports, credentials and network guards.
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
from autochron.judging.model_clients import JudgeRequest
from autochron.redaction.redactor import Redactor
from autochron.workers.commands import start_python
from autochron.workers.pipes import LineChannel, WorkerDiedError

_PACKAGES = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_INSTALLED = frozenset({"site-packages", "dist-packages"})


class Answer(Struct, frozen=True):
    """One reply of the judge's process: a verdict with its usage, sampling and SDK; or an error with its slug."""

    score: float = 0.0
    reason: str = ""
    usage: dict[str, int] = {}
    sampling: dict[str, Any] = {}
    sdk: str = ""
    error: str = ""
    slug: str = ""


class JudgeProcess:
    """A child process that answers questions, one at a time. It starts with the first question."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: LineChannel | None = None
        self._errors: IO[bytes] | None = None
        self._placeholders: tuple[str, ...] = ()

    def ask(self, model: str, prompt: str, base_url: str | None) -> Answer:
        """Ask one question and wait for its answer.

        Raises:
            JudgeSetupError: a package, a key or the model is missing or refused, or the process has died.
            VerdictError: the model returned no verdict.
            JudgeError: the model didn't answer.
        """
        process = self._process or self._start()
        assert self._channel is not None  # noqa: S101 - it starts with the process
        request = JudgeRequest(model, prompt, base_url, self._placeholders)
        with suppress(WorkerDiedError):  # the read below fails, too, and its error explains why
            self._channel.send(msgspec.json.encode(request) + b"\n")
        try:
            line = self._channel.receive(None)
        except WorkerDiedError:
            raise JudgeSetupError(self._explain_death(process)) from None
        answer = msgspec.json.decode(line, type=Answer)
        if answer.error:
            kinds = {kind.slug: kind for kind in (JudgeSetupError, VerdictError)}
            # An endpoint's error message may quote the key, and its URL may contain one.
            raise kinds.get(answer.slug, JudgeError)(Redactor().mask_text(answer.error))
        return answer

    def close(self) -> None:
        """End the process, if it has started."""
        process, self._process = self._process, None
        if process is not None:
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    try:
                        stream.close()
                    except OSError:  # the process has ended already
                        pass
            process.terminate()
            process.wait()
        if self._errors is not None:
            self._errors.close()
            self._errors = None

    def _start(self) -> subprocess.Popen[bytes]:
        environment, self._placeholders = surroundings()
        # A checkout that isn't installed may not be on the child's path.
        if os.path.basename(_PACKAGES) not in _INSTALLED:
            paths = (environment.get("PYTHONPATH"), _PACKAGES)
            environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - it lasts as long as the process
        self._process = process = start_python(
            # -P: modules in the working folder belong to the program, and the judge must not import them.
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

    def _explain_death(self, process: subprocess.Popen[bytes]) -> str:
        status = process.wait()
        output = b""
        if self._errors is not None:
            self._errors.seek(0)
            output = self._errors.read()
        lines = output.decode("utf-8", "replace").strip().splitlines() or ["it said nothing"]
        return f"the judge's process ended with status {status}: {lines[-1]}; try again, and report it if it stays so"

"""A provider in a child process, so that the program under test has none of the provider's threads."""

import http.client
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast
from urllib.parse import urlsplit

from autochron.provider.errors import ProviderError
from autochron.provider.script import Script
from autochron.provider.settings import Settings, Stats

_PACKAGES = Path(__file__).resolve().parents[2]
_TIMEOUT = 10.0  # seconds


@dataclass(frozen=True, slots=True)
class Provider:
    """A running provider.

    Attributes:
        origin: the base URL for SDKs that add `/v1` themselves, such as Anthropic's.
        pid: the id of its process.
        grpc: the address of its gRPC server for xAI's SDK, `localhost:PORT`; empty if it has none.
    """

    origin: str
    pid: int
    grpc: str = ""

    @property
    def url(self) -> str:
        """The base URL for the OpenAI SDK."""
        return f"{self.origin}/v1"

    @property
    def calls(self) -> int:
        """The number of calls so far, including refused ones and retries."""
        return self.stats.calls

    @property
    def stats(self) -> Stats:
        """All counters, read from the provider."""
        return Stats.from_data(self._ask("GET", "/stats"))

    def reset(self) -> None:
        """Set the counters to zero. The next request gets the answer that the seed gives to the first one."""
        self._ask("POST", "/reset")

    def _ask(self, method: str, path: str) -> dict[str, Any]:
        # Not urllib: it would use a proxy if the environment names one.
        connection = http.client.HTTPConnection(urlsplit(self.origin).netloc, timeout=_TIMEOUT)
        try:
            connection.request(method, path)
            data: dict[str, Any] = json.loads(connection.getresponse().read())
        finally:
            connection.close()
        return data


@contextmanager
def serve(
    *,
    seed: int | None = None,
    script: Script | str | Path | None = None,
    latency: tuple[float, float] = (0.0, 0.0),
    rate_limit: float = 0.0,
    port: int = 0,
    grpc: bool = False,
) -> Iterator[Provider]:
    """Run a provider during a block. It also ends if this process dies.

    Args:
        seed: makes the answers repeatable; None for other answers in each run.
        script: a Script or the path of one.
        latency: the range of the latency, in seconds.
        rate_limit: the probability of a 429, from 0 to 1.
        port: the port; 0 for a free one.
        grpc: serve xAI's API by gRPC, too, on a free port.

    Raises:
        ProviderError: the provider did not start, or a setting is out of range.
        ScriptError: the script is invalid.
    """
    loaded = script if isinstance(script, Script) else Script.load(script) if script else Script()
    process = _start(Settings(seed, loaded, latency, rate_limit), port, grpc=grpc)
    try:
        origin, _, address = _origin(process).partition(" ")
        yield Provider(origin, process.pid, address)
    finally:
        _stop(process)


def _start(settings: Settings, port: int, *, grpc: bool) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "autochron.provider", "--port", str(port), "--parent", str(os.getpid())]
    if grpc:
        command += ["--grpc-port", "0"]
    path = os.pathsep.join(filter(None, (str(_PACKAGES), os.environ.get("PYTHONPATH"))))
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
        start_new_session=True,  # Ctrl-C must not end it: the parent may have calls to finish
    )
    stdin = cast("IO[str]", process.stdin)
    with suppress(BrokenPipeError):  # the process has ended already, and `_origin` explains why
        stdin.write(settings.to_json() + "\n")
        stdin.flush()
    return process


def _origin(process: subprocess.Popen[str]) -> str:
    origin = cast("IO[str]", process.stdout).readline().strip()
    if not origin:
        process.wait()
        reason = cast("IO[str]", process.stderr).read().strip().rpartition("\n")[2]
        if reason.endswith("(missing-extra)"):
            raise ProviderError(reason)
        raise ProviderError(f"the provider did not start: {reason} (status {process.returncode})")
    return origin


def _stop(process: subprocess.Popen[str]) -> None:
    # Closing its standard input is not enough: a process forked from this one may hold the pipe open.
    process.terminate()
    try:
        process.communicate(timeout=_TIMEOUT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()

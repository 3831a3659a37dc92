"""Start and stop a provider in a child process, so that the program under test holds none of its threads."""

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
_TIMEOUT = 10.0


@dataclass(frozen=True, slots=True)
class Provider:
    """A running provider. `origin` is for SDKs that add `/v1` themselves (anthropic), `url` for others."""

    origin: str
    pid: int

    @property
    def url(self) -> str:
        """Return the base URL of the OpenAI SDK."""
        return f"{self.origin}/v1"

    @property
    def calls(self) -> int:
        """Count the live calls so far, refused ones and retries too."""
        return self.stats.calls

    @property
    def stats(self) -> Stats:
        """Ask for all counters."""
        return Stats.from_data(self._ask("GET", "/stats"))

    def reset(self) -> None:
        """Set the counters to zero and start the seed over."""
        self._ask("POST", "/reset")

    def _ask(self, method: str, path: str) -> dict[str, Any]:
        # Not urllib: it would send this through a proxy where the environment names one.
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
) -> Iterator[Provider]:
    """Serve for the length of the block; ready on entering, gone on leaving, and gone if this process dies.

    `script` is a Script or the path of one. `latency` is a range in seconds, `rate_limit` the probability of
    a 429. ProviderError if it doesn't start.
    """
    loaded = script if isinstance(script, Script) else Script.load(script) if script else Script()
    process = _started(Settings(seed, loaded, latency, rate_limit), port)
    try:
        yield Provider(_origin(process), process.pid)
    finally:
        _stop(process)


def _started(settings: Settings, port: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "autochron.provider", "--port", str(port), "--parent", str(os.getpid())]
    path = os.pathsep.join(filter(None, (str(_PACKAGES), os.environ.get("PYTHONPATH"))))
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
        start_new_session=True,  # ctrl-C is for the parent, which may have calls to finish
    )
    stdin = cast("IO[str]", process.stdin)
    with suppress(BrokenPipeError):  # then it has ended already, and `_origin` tells why
        stdin.write(settings.to_json() + "\n")
        stdin.flush()
    return process


def _origin(process: subprocess.Popen[str]) -> str:
    origin = cast("IO[str]", process.stdout).readline().strip()
    if not origin:
        process.wait()
        reason = cast("IO[str]", process.stderr).read().strip().rpartition("\n")[2]
        raise ProviderError(f"the provider did not start: {reason} (status {process.returncode})")
    return origin


def _stop(process: subprocess.Popen[str]) -> None:
    # Not only by closing its standard input: a process forked from this one may hold that open.
    process.terminate()
    try:
        process.communicate(timeout=_TIMEOUT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()

"""The tour of a release: a small agent is recorded, replayed, made a test that is red, mended, and tested green.

It runs with nothing but what was installed. Of the caller's environment it has PATH, the language and what the network needs,
and its home is a folder of its own.
The agent is that of the incident `refund`, copied, and its model is `python -m autochron.provider` on loopback.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

LIMIT = 900
"""Seconds that a command may take."""
NETWORK = re.compile(r"(?i)(?:PIP|UV)_.*|.*_PROXY|SSL_CERT_\w+|REQUESTS_CA_BUNDLE|PATH|TMPDIR|LANG|LC_\w+")
BROKEN = "    order = _order(order_id)\n    refund = Refund("
MENDED = """\
    order = _order(order_id)
    if amount_cents > order["paid_cents"]:
        return {"blocked": True, "reason": "more than was paid"}
    refund = Refund("""


class TourError(Exception):
    """A command ended otherwise than it should; the first line says which."""


def run(
    command: list[Any],
    *,
    says: str,
    status: int = 0,
    cwd: Path | None = None,
    variables: Mapping[str, str] | None = None,
) -> str:
    """Run a command in a bare environment, and return what it wrote.

    Args:
        command: the words.
        says: what is done, for the message.
        status: the exit status that is expected.
        cwd: where to run it.
        variables: what the environment has beside PATH and the network's variables.

    Raises:
        TourError: it ended with another status, or did not end.
    """
    inherited = {name: value for name, value in os.environ.items() if NETWORK.fullmatch(name)}
    environment = {**inherited, "HOME": str(Path.home()), **(variables or {})}
    words = [str(word) for word in command]
    try:
        done = subprocess.run(
            words, cwd=cwd, env=environment, text=True, check=False, timeout=LIMIT,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
    except (subprocess.TimeoutExpired, OSError) as error:
        raise TourError(f"{says}: {type(error).__name__}\n{error}") from None
    if done.returncode != status:
        raise TourError(
            f"{says}: status {done.returncode}, not {status}\n{' '.join(words)}\n{done.stdout[-4000:]}"
        )
    return done.stdout


def expect(text: str, pattern: str, says: str) -> re.Match[str]:
    """Search an output for a pattern.

    Raises:
        TourError: it isn't there.
    """
    found = re.search(pattern, text)
    if found is None:
        raise TourError(f"{says}: the output has no {pattern!r}\n{text[-4000:]}")
    return found


@contextlib.contextmanager
def provider(bin_folder: Path, folder: Path, environment: dict[str, str]) -> Iterator[str]:
    """Serve the model of the agent on loopback during a block; yield its address."""
    command = [str(bin_folder / "python"), "-m", "autochron.provider", "--script", "provider.json"]
    process = subprocess.Popen(
        command, cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    try:
        assert process.stdout is not None
        first = process.stdout.readline().strip()
        yield expect(first + "\n", r"^(http://127\.0\.0\.1:\d+/v1)\n", "the provider")[1]
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)


class Step(NamedTuple):
    """A command of the tour, and what has to come of it."""

    name: str
    words: tuple[str, ...]
    patterns: tuple[str, ...]
    status: int = 0


RECORD = Step(
    "record",
    ("autochron", "run", "agent.py"),
    (r"refunded 48,213\.00", r"7 crossings recorded", r"found: issue_refund is "),
)
BROKEN_AGENT = (
    Step(
        "replay",
        ("autochron", "replay", "last"),
        (r"refunded 48,213\.00", r"autochron: the same: 7 crossings "),
    ),
    Step(
        "make a test",
        ("autochron", "incident", "new", "last", "--live", "issue_refund[1]", "incidents/refund"),
        (r"test_refund\.py fails as it should", r"run it with: pytest incidents/refund"),
    ),
    Step("red", ("pytest", "-q", "incidents/refund"), (r"incident-reproduced", r"1 failed"), status=1),
)
MENDED_AGENT = (
    Step("green", ("pytest", "-q", "incidents/refund"), (r"1 passed",)),
    Step("check", ("autochron", "check", "clock.py"), (r"clock\.py:3.*time\.time",), status=1),
    Step("list", ("autochron", "traces", "list"), (r"agent\.py",)),
)


def tour(bin_folder: Path, folder: Path, agent: Path) -> dict[str, Any]:
    """Run the tour in a new folder with what is installed in `bin_folder`; return versions and the seconds of each step.

    Raises:
        TourError: a step ended otherwise than it should.
    """
    folder.mkdir(parents=True)
    for name in ("agent.py", "tools.py", "provider.json"):
        shutil.copy(agent / name, folder)
    (folder / "clock.py").write_text("import time\n\nprint(time.time())\n", encoding="utf-8")
    environment = {"HOME": str(folder / ".home"), "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}"}
    seconds: dict[str, float] = {}

    def take(step: Step, **more: str) -> None:
        begun = time.monotonic()
        command = [bin_folder / step.words[0], *step.words[1:]]
        said = run(command, says=step.name, status=step.status, cwd=folder, variables={**environment, **more})
        seconds[step.name] = round(time.monotonic() - begun, 1)
        for pattern in step.patterns:
            expect(said, pattern, step.name)

    with provider(bin_folder, folder, environment) as address:
        take(RECORD, OPENAI_BASE_URL=address, OPENAI_API_KEY="none")
    for step in BROKEN_AGENT:
        take(step)
    mend(folder / "tools.py")
    for step in MENDED_AGENT:
        take(step)
    shown = run([bin_folder / "autochron", "--version"], says="version", variables=environment)
    return {"autochron": shown.split()[1], "seconds": seconds}


def mend(tools: Path) -> None:
    """Add a guard to the tool that refunds.

    Raises:
        TourError: the agent has changed, and the guard no longer fits.
    """
    source = tools.read_text(encoding="utf-8")
    if BROKEN not in source:
        raise TourError("the tour: tools.py of the incident `refund` has changed, and the fix no longer fits")
    tools.write_text(source.replace(BROKEN, MENDED), encoding="utf-8")

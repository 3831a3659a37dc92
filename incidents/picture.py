"""Draw the README's picture: a terminal in which an incident is recorded, replayed, made a test, and fixed.

    python -m incidents.picture            runs the commands and writes docs/pictures/demo.svg
    python -m incidents.picture --check    runs them and compares what they print with the picture; 1 if it differs

The commands run for real, in a folder of their own with the agent of `incidents/refund`. The picture shows the lines that
`STEPS` selects. Ids, durations and the model's small talk differ in each run; the comparison leaves them out.
"""

from __future__ import annotations

import argparse
import difflib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.etree import ElementTree as ET
from xml.sax.saxutils import escape

from autochron import provider

ROOT = Path(__file__).resolve().parents[1]
REFUND = ROOT / "incidents" / "refund"
PICTURE = ROOT / "docs" / "pictures" / "demo.svg"
TIMEOUT = 300.0

GUARD = """\
    if amount_cents > order["paid_cents"]:
        return {"blocked": True, "reason": "more than was paid"}
"""
BEFORE = "    order = _order(order_id)\n    refund = Refund("


class PictureError(Exception):
    """A command ended with another status than the picture shows, or did not print a line that it shows."""


@dataclass(frozen=True, slots=True)
class Step:
    """A command of the picture.

    Attributes:
        comment: what the reader should know, above the command.
        command: as it is typed.
        shows: a regular expression for each line of the output that is shown, in order.
        status: the exit status.
        needs_model: whether a model answers; the others run without one.
    """

    comment: str
    command: str
    shows: tuple[str, ...]
    status: int = 0
    needs_model: bool = False


STEPS = (
    Step(
        "Record one run of the agent. Its source has no line for this.",
        "autochron run agent.py",
        (r"customer: .*", r"  issue_refund .*", r"    refunded .*", r"autochron: \d+ crossings recorded .*"),
        needs_model=True,
    ),
    Step(
        "The model is stopped. Replay the run: same program, same output.",
        "autochron replay last",
        (r"    refunded .*", r"autochron: the same: .*"),
    ),
    Step(
        "Make a test of it. The refund runs today's code; the rest is served.",
        "autochron incident new last --live 'issue_refund[1]' incidents/refund",
        (r"incidents/refund: .*",),
    ),
    Step(
        "",
        "pytest -q incidents/refund",
        (
            r"E +autochron\.errors\.ReproducedError: .*",
            r"E +and did this: .*",
            r"E +the fix goes into .*",
            r"1 failed in .*",
        ),
        status=1,
    ),
    Step("Fix the tool.", "git diff -U0 tools.py", (r"\+ .*", r"\+ .*")),
    Step("", "pytest -q incidents/refund", (r"1 passed in .*",)),
)


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the picture: its text, its class of CSS, and the seconds after which it appears."""

    text: str
    look: str
    at: float


def main(words: Sequence[str]) -> int:
    """Write or check the picture; 1 if it is out of date, 2 if a command does not do what it should."""
    parser = argparse.ArgumentParser(
        "python -m incidents.picture", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--check", action="store_true", help="write nothing; 1 if the picture is out of date")
    options = parser.parse_args(words)
    try:
        lines = list(transcript())
    except (PictureError, provider.ProviderError, OSError, subprocess.SubprocessError) as error:
        sys.stderr.write(f"incidents.picture: {error}\n")
        return 2
    if options.check:
        differences = compared(lines, PICTURE.read_text(encoding="utf-8"))
        sys.stdout.writelines(f"{line}\n" for line in differences)
        return int(bool(differences))
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    PICTURE.write_text(drawn(lines), encoding="utf-8")
    sys.stdout.write(f"written: {PICTURE.relative_to(ROOT)}\n")
    return 0


# --- the commands -----------------------------------------------------------------------------------------------------


def transcript() -> Iterator[Line]:
    """Run the commands in a new folder, and yield the lines of the picture."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        for file in ("agent.py", "tools.py"):
            shutil.copy(REFUND / file, folder)
        _run(
            "git init -q . && git add . && git -c user.name=a -c user.email=a@example.org commit -qm agent",
            folder,
        )
        now = 0.5
        for step in STEPS:
            if step.command.startswith("git diff"):
                _fix(folder / "tools.py")
            printed = _printed(step, folder)
            if step.comment:
                yield Line(f"# {step.comment}", "comment", now)
                now += 0.9
            yield Line(f"$ {step.command}", "command", now)
            now += 1.1
            for text in _selected(step, printed):
                yield Line(text, _look(text), now)
                now += 0.35
            now += 1.2


def _printed(step: Step, folder: Path) -> str:
    """Return what a step's command prints; raise PictureError for another status than the step's."""
    if step.needs_model:
        with provider.serve(script=REFUND / "provider.json", seed=1) as model:
            status, printed = _run(step.command, folder, OPENAI_BASE_URL=model.url, OPENAI_API_KEY="none")
    else:
        status, printed = _run(step.command, folder)
    if status != step.status:
        raise PictureError(f"`{step.command}` ended with status {status}: {printed}")
    return printed


def _run(command: str, folder: Path, **more: str) -> tuple[int, str]:
    path = os.pathsep.join((os.path.dirname(sys.executable), os.environ["PATH"]))
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env={
            **inherited,
            "PATH": path,
            "PYTHONPATH": str(ROOT),
            "NO_PROXY": "127.0.0.1",
            "COLUMNS": "96",
            **more,
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=TIMEOUT,
        check=False,
    )
    return done.returncode, done.stdout


def _fix(file: Path) -> None:
    """Add the guard to the tool."""
    source = file.read_text(encoding="utf-8")
    first, _, second = BEFORE.partition("\n")
    if source.count(BEFORE) != 1:
        raise PictureError("incidents/refund/tools.py has no place for the guard of the picture")
    file.write_text(source.replace(BEFORE, f"{first}\n{GUARD}{second}"), encoding="utf-8")


def _selected(step: Step, printed: str) -> Iterator[str]:
    """Yield the lines of an output that a step shows, in order."""
    rest = iter(printed.splitlines())
    for pattern in step.shows:
        text = next((line for line in rest if re.fullmatch(pattern, line)), None)
        if text is None:
            raise PictureError(f"`{step.command}` prints no line like {pattern!r}: {printed}")
        yield text


def _look(text: str) -> str:
    """Return the class of CSS of a line of output."""
    if re.match(r"E |1 failed|    refunded", text):
        return "bad"
    if re.match(r"\+|1 passed|autochron: the same", text):
        return "good"
    return "output"


# --- the drawing ------------------------------------------------------------------------------------------------------

WIDTH, MARGIN, TOP, STEP, COLUMNS = 960, 22, 62, 20, 112
HOLD = 8.0
"""Seconds for which the whole picture stays before it begins anew."""

STYLE = """\
svg { --back: #ffffff; --edge: #d0d7de; --text: #1f2328; --dim: #59636e; --bad: #b42318; --good: #116329; --key: #0550ae }
@media (prefers-color-scheme: dark) {
  svg { --back: #0d1117; --edge: #3d444d; --text: #f0f6fc; --dim: #9198a1; --bad: #ff8d85; --good: #56d364; --key: #79c0ff }
}
text { font: 13.5px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; white-space: pre }
.back { fill: var(--back); stroke: var(--edge) }
.dot { fill: var(--edge) }
.title, .comment { fill: var(--dim) }
.command { fill: var(--key); font-weight: bold }
.output { fill: var(--text) }
.bad { fill: var(--bad) }
.good { fill: var(--good) }
"""


def drawn(lines: Sequence[Line]) -> str:
    """Return the picture as SVG; without animations, all of its lines are visible."""
    whole = lines[-1].at + HOLD
    frames = "\n".join(
        f"  @keyframes l{number} {{ 0%, {100 * line.at / whole:.2f}% {{ opacity: 0 }} "
        f"{100 * line.at / whole + 0.3:.2f}%, 99.5% {{ opacity: 1 }} 100% {{ opacity: 0 }} }}\n"
        f"  #l{number} {{ animation: l{number} {whole:.1f}s linear infinite }}"
        for number, line in enumerate(lines)
    )
    places = _places(lines)
    height = places[-1] + MARGIN
    texts = "\n".join(
        f'<text id="l{number}" class="{line.look}" x="{MARGIN}" y="{y}">{escape(_cut(line.text))}</text>'
        for number, (line, y) in enumerate(zip(lines, places, strict=True))
    )
    dots = "".join(
        f'<circle class="dot" cx="{MARGIN + 18 * number}" cy="20" r="5.5"/>' for number in range(3)
    )
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img" \
aria-labelledby="title">
<title id="title">A terminal: a failure of an agent is recorded, replayed, made a test that fails, and fixed.</title>
<!-- Made by python -m incidents.picture from a run of these commands. -->
<style>
{STYLE}@media (prefers-reduced-motion: no-preference) {{
{frames}
}}
</style>
<rect class="back" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="10"/>
{dots}
<text class="title" x="{WIDTH / 2}" y="25" text-anchor="middle">autochron</text>
{texts}
</svg>
"""


def _places(lines: Sequence[Line]) -> list[int]:
    """Return the height of each line; there is half a line above each comment and each command without one."""
    places, y = [], TOP - STEP
    for before, line in zip([None, *lines], lines, strict=False):
        begins = line.look == "comment" or (
            line.look == "command" and (before is None or before.look != "comment")
        )
        y += STEP + (STEP // 2 if begins and before is not None else 0)
        places.append(y)
    return places


def _cut(text: str) -> str:
    text = re.sub(r"^E +", "E   ", text)
    return text if len(text) <= COLUMNS else text[: COLUMNS - 1] + "…"


# --- the comparison ---------------------------------------------------------------------------------------------------


def shown(picture: str) -> list[str]:
    """Return the lines of text that a picture shows, without its title."""
    texts = ET.fromstring(picture).iter("{http://www.w3.org/2000/svg}text")
    return ["".join(text.itertext()) for text in texts if text.get("class") != "title"]


def compared(lines: Sequence[Line], picture: str) -> list[str]:
    """Return the difference of a picture and the lines of a new run; empty if there is none."""
    old = [normalised(text) for text in shown(picture)]
    new = [normalised(_cut(line.text)) for line in lines]
    return list(difflib.unified_diff(old, new, "docs/pictures/demo.svg", "a new run", lineterm=""))


def normalised(text: str) -> str:
    """Return a text with ids of traces and durations replaced."""
    text = re.sub(r"\b[0-9A-HJKMNP-TV-Z]{26}\b|\b01[0-9A-HJKMNP-TV-Z]*…", "ID", text)
    return re.sub(r"\b\d+(?:\.\d+)?( ?(?:µs|ms|s))\b", r"N\1", text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

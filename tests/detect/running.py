"""Run programs of the tests under a watch, each in a process of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).parents[2]


def run(
    folder: Path,
    program: str,
    *,
    name: str = "agent.py",
    watched: bool = True,
    developing: bool = True,
    **files: str,
) -> tuple[list[Any], list[str], subprocess.CompletedProcess[str]]:
    """Return [file, line, call, count, tier, via, covered] of each finding, the reported problems, and the process."""
    (folder / name).write_text(program)
    for module, source in files.items():
        path = folder / f"{module.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    driver = [str(_ROOT / "tests" / "detect" / "driver.py"), str(folder)] if watched else []
    ended = subprocess.run(
        [sys.executable, *(["-X", "dev"] if developing else []), "-W", "ignore", *driver, name],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(_ROOT)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    if not watched:
        return [], [], ended
    output, _, last = ended.stdout.rstrip("\n").rpartition("\n")
    findings, problems = json.loads(last)
    ended.stdout = output
    return findings, problems, ended


def cases(name: str) -> dict[str, str]:
    """Return the programs of a file of cases by their titles."""
    text = (Path(__file__).parent / "cases" / f"{name}.txt").read_text()
    return {about: program for about, _, program in (part.partition("\n") for part in text.split("=== ")[1:])}

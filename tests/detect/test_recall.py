"""What a run and its source find together of programs that nobody tuned to: recall, and silence where there is nothing."""

import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from autochron.detect.scan.scan import scan
from tests.detect import corpus

_ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus").resolve()
    corpus.write(str(folder), [*corpus.cases(), *corpus.traps()])
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(_ROOT / "tests" / "detect" / "whole.py"), str(folder)],
        cwd=folder, env={**os.environ, "PYTHONPATH": str(_ROOT)}, stdin=subprocess.DEVNULL, check=True,
        capture_output=True, text=True, timeout=100,
    )  # fmt: skip
    said = json.loads(done.stdout.splitlines()[-1])
    assert (said["failed"], said["problems"]) == ({}, [])
    return said["found"]


def together(case, watched):
    lines = defaultdict(set)
    for line, category in watched.get(case.file, ()):
        lines[line].add(category)
    for seen in scan(case.source):
        lines[seen.line].add(seen.category)
    return lines


@pytest.mark.slow
def test_at_least_96_of_100_calls_are_found_on_their_line(watched):
    cases = corpus.cases()
    missed = [case.name for case in cases if case.missed(together(case, watched))]
    assert len(missed) <= 0.04 * len(cases), missed


@pytest.mark.slow
def test_no_trap_is_flagged(watched):
    flagged = {case.name for case in corpus.traps() if together(case, watched)}
    assert flagged == set()

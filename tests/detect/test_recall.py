"""A watch and a scan together find nearly all calls of an independent corpus, and nothing in the traps."""

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
    report = json.loads(done.stdout.splitlines()[-1])
    assert (report["failed"], report["problems"]) == ({}, [])
    return report["found"]


def categories_by_line(case, watched):
    lines = defaultdict(set)
    for line, category in watched.get(case.file, ()):
        lines[line].add(category)
    for finding in scan(case.source):
        lines[finding.line].add(finding.category)
    return lines


@pytest.mark.slow
def test_at_least_96_of_100_calls_are_found_on_their_line(watched):
    cases = corpus.cases()
    missed = [case.name for case in cases if case.missed(categories_by_line(case, watched))]
    assert len(missed) <= 0.04 * len(cases), missed


@pytest.mark.slow
def test_no_trap_is_flagged(watched):
    flagged = {case.name for case in corpus.traps() if categories_by_line(case, watched)}
    assert flagged == set()

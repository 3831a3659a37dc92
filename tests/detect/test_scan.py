"""The scan finds the marked calls of the corpus on their lines, and nothing in the traps."""

from collections import defaultdict

import pytest

from autochron.detect.scan.scan import scan
from tests.detect import corpus


def categories_by_line(source):
    lines = defaultdict(set)
    for finding in scan(source):
        lines[finding.line].add(finding.category)
    return dict(lines)


def test_the_scan_finds_every_call_of_the_corpus():
    assert [case.name for case in corpus.cases() if case.missed(categories_by_line(case.source))] == []


def test_the_scan_finds_nothing_else_in_the_corpus():
    wrong = {case.name: case.wrong(categories_by_line(case.source)) for case in corpus.cases()}
    assert {name: lines for name, lines in wrong.items() if lines} == {}


@pytest.mark.parametrize("case", corpus.traps(), ids=lambda case: case.name)
def test_the_scan_finds_nothing_in_a_trap(case):
    assert scan(case.source) == []

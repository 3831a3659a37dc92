"""The scan finds what the corpus marks, on its line, and nothing in the traps."""

from collections import defaultdict

import pytest

from autochron.detect.scan.scan import scan
from tests.detect import corpus


def found(source):
    lines = defaultdict(set)
    for seen in scan(source):
        lines[seen.line].add(seen.category)
    return dict(lines)


def test_it_finds_every_call_of_the_corpus():
    assert [case.name for case in corpus.cases() if case.missed(found(case.source))] == []


def test_it_finds_nothing_else_in_them():
    wrong = {case.name: case.wrong(found(case.source)) for case in corpus.cases()}
    assert {name: lines for name, lines in wrong.items() if lines} == {}


@pytest.mark.parametrize("case", corpus.traps(), ids=lambda case: case.name)
def test_a_trap_stays_silent(case):
    assert scan(case.source) == []

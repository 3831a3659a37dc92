"""The corpora are large enough and completely marked. `test_recall` runs them."""

from tests.detect import corpus


def test_the_corpora_are_large_enough_and_cover_all_categories():
    assert len(corpus.cases()) >= 350
    assert len(corpus.traps()) >= 70
    assert {category for case in corpus.cases() for category in case.expected.values()} == {
        "clock", "random", "uuid", "env", "host", "files", "network", "subprocess", "ordering", "set-order", "identity",
        "native",
    }  # fmt: skip


def test_each_case_has_one_marked_call_and_no_trap_has_any():
    assert [case.name for case in corpus.cases() if len(case.expected) != 1] == []
    assert [case.name for case in corpus.traps() if case.expected or case.tolerated] == []

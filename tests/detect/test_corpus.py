"""The corpora are what they claim to be: enough, and marked. That they run is seen in `test_recall`."""

from tests.detect import corpus


def test_there_are_enough_of_each():
    assert len(corpus.cases()) >= 350
    assert len(corpus.traps()) >= 70
    assert {category for case in corpus.cases() for category in case.expected.values()} == {
        "clock", "random", "uuid", "env", "host", "files", "network", "subprocess", "ordering", "set-order", "identity",
        "native",
    }  # fmt: skip


def test_each_case_has_one_call_and_no_trap_has_any():
    assert [case.name for case in corpus.cases() if len(case.expected) != 1] == []
    assert [case.name for case in corpus.traps() if case.expected or case.tolerated] == []

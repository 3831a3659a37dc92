"""A build runs one in three of the slow tests, others for each commit."""

from tests.conftest import is_in_share

NODES = [f"tests/mutate/test_x.py::test_{number}" for number in range(300)]


def test_a_share_is_about_a_third_and_depends_on_the_word():
    first, second = ({node for node in NODES if is_in_share(node, f"3/{word}")} for word in ("abc", "def"))
    assert 70 < len(first) < 130
    assert first != second


def test_a_share_is_the_same_for_the_same_word():
    shares = [[node for node in NODES if is_in_share(node, "3/abc")] for _ in range(2)]
    assert shares[0] == shares[1]


def test_each_test_is_in_some_share():
    assert all(any(is_in_share(node, f"3/{word}") for word in range(60)) for node in NODES)


def test_pages_and_blocks_of_the_documentation_are_in_every_share():
    always = ["tests/docs/test_pages.py::test_a_page_runs", "tests/viewing/test_browsing.py::test_search"]
    assert all(is_in_share(node, f"3/{word}") for node in always for word in range(20))

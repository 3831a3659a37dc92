"""Each promise of docs/security.md has tests of its own, in one file."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text("utf-8")
TESTS = "tests/security/"
NAMED = re.compile(r"`((?:tests|autochron|bench|docs|incidents|mutation|rules)/[\w./-]*)`")


def promises() -> list[tuple[str, list[str]]]:
    """What is bold, each with the paths named up to the next one, the next item or the next row."""
    found = []
    for part in re.split(r"^(?:- |\| |#)", PAGE, flags=re.MULTILINE):
        # An item may hold several promises, a row of a table one.
        _, *bold = re.split(r"\*\*(.+?)\*\*", part, flags=re.DOTALL)
        found += [
            (" ".join(said.split()), NAMED.findall(after))
            for said, after in zip(bold[::2], bold[1::2], strict=True)
        ]
    return found


def own(paths: list[str]) -> list[str]:
    return [path for path in paths if path.startswith(TESTS)]


PROMISES = promises()


def test_the_page_has_its_promises():
    assert len(PROMISES) > 25
    assert len({said for said, _ in PROMISES}) == len(PROMISES)


@pytest.mark.parametrize(("said", "paths"), PROMISES, ids=[said[:40] for said, _ in PROMISES])
def test_a_promise_names_one_file_with_tests(said, paths):
    assert len(own(paths)) == 1, f"{said!r} names {own(paths)}"
    tree = ast.parse((ROOT / own(paths)[0]).read_text("utf-8"))
    assert any(isinstance(node, ast.FunctionDef) and node.name.startswith("test_") for node in tree.body)


def test_no_two_promises_share_a_file_and_none_is_left_out():
    named = [path for _, paths in PROMISES for path in own(paths)]
    held = [f"{TESTS}{path.name}" for path in (ROOT / TESTS).glob("test_*.py")]
    assert sorted(named) == sorted(held)


def test_every_path_of_the_page_is_there():
    paths = NAMED.findall(PAGE)
    assert [path for path in paths if not (ROOT / path).exists()] == []
    # A file of tests is named with its folder, so that none escapes the tests above.
    assert re.findall(r"`test_\w+\.py`", PAGE) == []

"""Each promise of docs/security.md has tests of its own, in one file; and its figures are those that are made."""

import ast
import re
from pathlib import Path

import pytest

from tests.security import figures
from tests.security.kills import Killed

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


# --- figures ----------------------------------------------------------------------------------------------------------


def test_the_table_of_secrets_is_what_is_counted_now():
    assert figures.with_secrets(PAGE) == PAGE, f"run {figures.COMMAND} --kills 0"


def test_what_is_left_in_clear_is_what_the_page_names():
    (names,) = [leaked for _, _, leaked in figures.counted() if leaked]
    kept = [re.findall(r"[a-z]+", each.texts[0])[0] for each in names]
    (said,) = re.findall(r"These are (.*?) beside their value in a list", PAGE, re.DOTALL)
    assert set(re.findall(r"`(\w+)`", said)) == set(kept)


def test_what_killed_programs_left_is_told():
    found = [
        Killed(100, 100, 0.005, whole=True),
        Killed(100, 100, 0.007, whole=True),
        Killed(100, 90, 0.06, whole=False, busy=2),
    ]
    said = " ".join(figures.killed(found, [1.0, 1.0, 4.0]).split())
    free, busy = "With a processor free, ", "With one or two other processes that did nothing but compute, "
    assert said.startswith("3 programs were killed, on")
    assert "a load of 2.0 in the mean. 1 traces had a gap. With a processor free" in said
    assert (
        f"{free}200 of 200 crossings that had ended 50 ms before were there. They were safe 7 ms (median),"
        in said
    )
    assert (
        f"{busy}90 of 100 crossings that had ended 50 ms before were there. They were safe 60 ms (median),"
        in said
    )
    assert said.endswith("60 ms (90 %), 60 ms (99 %) and 60 ms (the slowest) after their end.")


def test_the_page_claims_what_kills_left():
    free, busy = re.findall(r"([\d,]+) of ([\d,]+) crossings\s+that had ended 50 ms before", PAGE)
    assert free[0] == free[1]
    assert busy[0] <= busy[1]


@pytest.mark.parametrize("mark", [*figures.SECRETS, *figures.KILLS])
def test_a_page_without_a_place_for_figures_is_refused(mark):
    marks = figures.SECRETS if mark in figures.SECRETS else figures.KILLS
    with pytest.raises(SystemExit, match=r"docs/security\.md has no line"):
        figures.put(PAGE.replace(mark, ""), marks, "x")

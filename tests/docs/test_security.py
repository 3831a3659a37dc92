"""Each promise of docs/security.md has its own file of tests, and the page's figures are the current ones."""

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
    """Return each promise (the bold texts) with the paths that are named after it, up to the next promise, item or row."""
    named = []
    for part in re.split(r"^(?:- |\| |#)", PAGE, flags=re.MULTILINE):
        # An item may hold several promises, a row of a table one.
        _, *bold = re.split(r"\*\*(.+?)\*\*", part, flags=re.DOTALL)
        named += [
            (" ".join(promise.split()), NAMED.findall(after))
            for promise, after in zip(bold[::2], bold[1::2], strict=True)
        ]
    return named


def own(paths: list[str]) -> list[str]:
    return [path for path in paths if path.startswith(TESTS)]


PROMISES = promises()


def test_the_page_has_its_promises():
    assert len(PROMISES) > 25
    assert len({promise for promise, _ in PROMISES}) == len(PROMISES)


@pytest.mark.parametrize(("promise", "paths"), PROMISES, ids=[promise[:40] for promise, _ in PROMISES])
def test_a_promise_names_one_file_with_tests(promise, paths):
    assert len(own(paths)) == 1, f"{promise!r} names {own(paths)}"
    tree = ast.parse((ROOT / own(paths)[0]).read_text("utf-8"))
    assert any(isinstance(node, ast.FunctionDef) and node.name.startswith("test_") for node in tree.body)


def test_no_two_promises_share_a_file_and_no_file_is_left_out():
    named = [path for _, paths in PROMISES for path in own(paths)]
    present = [f"{TESTS}{path.name}" for path in (ROOT / TESTS).glob("test_*.py")]
    assert sorted(named) == sorted(present)


def test_every_path_of_the_page_exists():
    paths = NAMED.findall(PAGE)
    assert [path for path in paths if not (ROOT / path).exists()] == []
    # Every file of tests is named with its folder; otherwise the tests above would miss it.
    assert re.findall(r"`test_\w+\.py`", PAGE) == []


# --- figures ----------------------------------------------------------------------------------------------------------


def test_the_table_of_secrets_has_the_current_counts():
    assert figures.with_secrets(PAGE) == PAGE, f"run {figures.COMMAND} --kills 0"


def test_the_page_names_what_is_left_in_clear():
    (names,) = [leaked for _, _, leaked in figures.counted() if leaked]
    left = [re.findall(r"[a-z]+", example.texts[0])[0] for example in names]
    (sentence,) = re.findall(r"These are (.*?) beside their value in a list", PAGE, re.DOTALL)
    assert set(re.findall(r"`(\w+)`", sentence)) == set(left)


def test_figures_on_killed_programs_are_summarised():
    kills = [
        Killed(100, 100, 0.005, whole=True),
        Killed(100, 100, 0.007, whole=True),
        Killed(100, 90, 0.06, whole=False, busy=2),
    ]
    summary = " ".join(figures.killed(kills, [1.0, 1.0, 4.0]).split())
    free, busy = "With a processor free, ", "With one or two other processes that did nothing but compute, "
    assert summary.startswith("3 programs were killed, on")
    assert "a load of 2.0 in the mean. 1 traces had a gap. With a processor free" in summary
    assert (
        f"{free}200 of 200 crossings that had ended 50 ms before were there. They were safe 7 ms (median),"
        in summary
    )
    assert (
        f"{busy}90 of 100 crossings that had ended 50 ms before were there. They were safe 60 ms (median),"
        in summary
    )
    assert summary.endswith("60 ms (90 %), 60 ms (99 %) and 60 ms (the slowest) after their end.")


def test_the_pages_figures_on_killed_programs_support_its_claim():
    free, busy = re.findall(r"([\d,]+) of ([\d,]+) crossings\s+that had ended 50 ms before", PAGE)
    assert free[0] == free[1]
    assert busy[0] <= busy[1]


@pytest.mark.parametrize("mark", [*figures.SECRETS, *figures.KILLS])
def test_a_page_without_a_place_for_figures_is_refused(mark):
    marks = figures.SECRETS if mark in figures.SECRETS else figures.KILLS
    with pytest.raises(SystemExit, match=r"docs/security\.md has no line"):
        figures.put(PAGE.replace(mark, ""), marks, "x")

"""CPython's own tests, with every function woven: the only new failures are those explained in `expected.toml`."""

import importlib.util
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.cpython import comparison
from tests.cpython.comparison import EXPECTED, GROUPS, PROGRAM

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("test.test_functools") is None,
    reason="this interpreter comes without CPython's `test` package",
)
WHOLE = [name for name in GROUPS if name not in {"few", "on", "calls"}]
WAITING = {"concurrent", "threads"}
EACH_BUILD = ["first", "concurrent"]
"""The groups that every build runs, on one interpreter; `--thorough` runs all."""


@pytest.fixture(scope="session")
def place_of(tmp_path_factory):
    """Return a function that returns the folder of a group."""
    known = {}

    def place(group):
        if group not in known:
            known[group] = tmp_path_factory.mktemp(group)
        return known[group]

    return place


def run_plain_and_woven(mode, group, place):
    """Run a group plain and woven; side by side if its tests mostly wait."""
    with ThreadPoolExecutor(1 + (group in WAITING)) as pool:
        before = pool.submit(comparison.plain, group, place)
        after = pool.submit(comparison.run, mode, group, place)
        return before.result(), after.result()


def check(mode, group, place):
    before, after = run_plain_and_woven(mode, group, place)
    assert not before.end, f"unwoven, they did not end: {before.end}"
    assert not after.end, f"they did not end: {after.end}"
    assert not after.summary["refused"]
    new = comparison.worsened(before, after)
    expected = comparison.listed(mode, group)
    unlisted = {test: how for test, how in new.items() if test not in expected}
    assert not unlisted, "\n\n".join(f"{test}: {how}" for test, how in unlisted.items())
    assert expected - new.keys() == set(), "listed, but they no longer fail: take them off the list"
    return after


def test_a_few_modules_pass_woven_with_recording_off(place_of):
    after = check("off", "few", place_of("few"))
    assert len(after.outcomes) > 400
    assert after.summary["woven"] > 3000
    assert after.summary["crossings"] == 0


@pytest.mark.slow
@pytest.mark.timeout(2 * comparison.LIMIT)
@pytest.mark.parametrize(
    "group",
    [pytest.param(group, marks=[] if group in EACH_BUILD else pytest.mark.thorough) for group in WHOLE],
)
def test_no_new_failure_with_recording_off(group, place_of):
    after = check("off", group, place_of(group))
    assert after.summary["woven"] > 5000
    assert after.summary["crossings"] == 0


@pytest.mark.thorough
@pytest.mark.timeout(2 * comparison.LIMIT)
def test_no_unlisted_failure_while_a_handler_passes_through(place_of):
    after = check("on", "on", place_of("on"))
    assert after.summary["crossings"] > 1_000_000


def test_each_build_covers_at_least_40_modules():
    modules = {name for group in EACH_BUILD for name in comparison.modules_of(group)}
    assert len(modules) >= 40


def test_each_listed_failure_is_explained_once():
    entries = [*EXPECTED["expected"], *EXPECTED.get("excluded", ())]
    assert all(len(entry["reason"]) > 40 for entry in entries)
    keys = [(e["test"], m, p) for e in EXPECTED["expected"] for m in e["modes"] for p in e["pythons"]]
    assert len(keys) == len(set(keys))


def test_the_program_is_where_the_comparison_looks():
    assert PROGRAM.is_file()

"""The comparison of runs: differences, known and flaky ones, and real runs of a small made-up library."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.suites import meter, rules, running
from tests.suites.__main__ import Result, main, shown, write
from tests.suites.comparison import Outcome, Run, differences, judge, read_report
from tests.suites.environment import REPORTER, Environment
from tests.suites.running import run, warm_up
from tests.suites.table import HERE, MODES, Suite, TableError, known_tests, read_known, read_suites
from tests.venvs import ROOT

PASSED = Outcome("passed")
FAILED = Outcome("failed", "AssertionError", "assert 1 == 2")


def run_of(**outcomes):
    return Run(outcomes)


# --- differences ---


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (PASSED, FAILED),
        (FAILED, PASSED),
        (FAILED, Outcome("failed", "TypeError")),
        (PASSED, Outcome("skipped")),
        (PASSED, Outcome("error", "AssertionError")),
        (Outcome("xfailed"), Outcome("xpassed")),
    ],
    ids=str,
)
def test_a_different_outcome_or_exception_type_is_a_difference(before, after):
    assert list(differences(run_of(a=before, b=PASSED), run_of(a=after, b=PASSED))) == ["a"]


def test_the_same_exception_type_with_another_text_is_no_difference():
    assert differences(run_of(a=FAILED), run_of(a=Outcome("failed", "AssertionError", "assert 1 == 3"))) == {}


def test_a_test_that_is_in_one_run_only_is_a_difference():
    assert differences(run_of(a=PASSED), run_of()) == {"a": "passed -> missing"}
    assert differences(run_of(), run_of(a=FAILED)) == {
        "a": "missing -> failed (AssertionError)\nassert 1 == 2"
    }


# --- judging ---


def test_a_difference_that_is_not_listed_fails():
    judgement = judge(run_of(a=PASSED), run_of(a=FAILED), {})
    assert not judgement.is_good
    assert "unlisted: a: passed -> failed (AssertionError)" in str(judgement)


def test_a_difference_that_is_listed_passes():
    judgement = judge(run_of(a=PASSED), run_of(a=FAILED), {"a": "because"})
    assert judgement.is_good
    assert judgement.known == {"a": "because"}


def test_a_listed_difference_that_does_not_occur_fails():
    judgement = judge(run_of(a=PASSED), run_of(a=PASSED), {"a": "because"})
    assert not judgement.is_good
    assert str(judgement) == "listed, and no longer different: a"


def test_a_test_that_differs_between_two_plain_runs_is_flaky_and_no_difference():
    before, after, second_plain = (
        run_of(a=PASSED, b=PASSED),
        run_of(a=FAILED, b=FAILED),
        run_of(a=FAILED, b=PASSED),
    )
    judgement = judge(before, after, {}, second_plain)
    assert judgement.flaky == ("a",)
    assert list(judgement.unlisted) == ["b"]


@pytest.mark.parametrize("which", [0, 1, 2])
def test_an_incomplete_run_fails_the_judgement(which):
    runs = [run_of(a=PASSED)] * 3
    runs[which] = Run({"a": PASSED}, fault="it died in b")
    judgement = judge(runs[0], runs[1], {}, runs[2])
    assert not judgement.is_good
    assert str(judgement).endswith("run: it died in b")


# --- reports ---


def report(tmp_path, *entries):
    path = tmp_path / "report.jsonl"
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    return path


def test_a_report_without_an_end_names_the_last_test_that_began(tmp_path):
    done = {"test": "a", "outcome": "passed", "error": "", "detail": ""}
    path = report(tmp_path, {"begun": "a"}, done, {"begun": "b"})
    with path.open("a") as file:
        file.write('{"test": "b", "outc')
    assert read_report(path) == ({"a": PASSED}, "it died in b")
    assert read_report(tmp_path / "none.jsonl") == ({}, "it died before the first test")


def test_an_address_in_a_test_id_is_replaced(tmp_path):
    name = "test_a[<object object at 0x7f0011223344>]"
    done = {"test": name, "outcome": "passed", "error": "", "detail": ""}
    outcomes, fault = read_report(report(tmp_path, done, {"ended": 0}))
    assert (list(outcomes), fault) == (["test_a[<object object at 0x…>]"], "")


@pytest.mark.parametrize("status", [2, 3, 4, 5])
def test_an_unusual_exit_status_of_pytest_is_a_fault(tmp_path, status):
    assert read_report(report(tmp_path, {"ended": status}))[1] == f"pytest ended with {status}"


# --- tables ---


def test_the_tables_are_consistent():
    suites, known = read_suites(), read_known()
    assert [suite.name for suite in suites.values() if suite.build] == ["h11", "toolz"]  # fmt: skip
    assert {difference.suite for difference in known} <= suites.keys()
    assert all(suite.weave and suite.tests for suite in suites.values())
    assert all(len(reason) > 20 for suite in suites.values() for reason in suite.deselect.values())


ENTRY = """
[[known]]
suite = "h11"
modes = ["woven"]
tests = ["a", "b"]
pythons = ["3.12"]
cause = "A sentence that is long enough to say what the cause is."
"""


def test_a_known_difference_holds_for_its_suite_mode_and_python(tmp_path):
    path = tmp_path / "known.toml"
    path.write_text(ENTRY)
    known = read_known(path)
    assert list(known_tests(known, "h11", "woven", "3.12")) == ["a", "b"]
    assert known_tests(known, "h11", "packs", "3.12") == {}
    assert known_tests(known, "h11", "woven", "3.13") == {}
    assert known_tests(known, "toolz", "woven", "3.12") == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (ENTRY.replace("A sentence that is long enough to say what the cause is.", "unknown"), "no cause"),
        (ENTRY.replace('"woven"', '"plain"'), "modes other than"),
        (ENTRY + ENTRY, "listed twice"),
        (ENTRY + 'why = "x"', "unknown key: why"),
    ],
)
def test_a_malformed_known_difference_is_refused(tmp_path, text, message):
    path = tmp_path / "known.toml"
    path.write_text(text)
    with pytest.raises(TableError, match=message):
        read_known(path)


def test_a_suite_with_an_unknown_key_is_refused(tmp_path):
    path = tmp_path / "suites.toml"
    path.write_text('[suite.x]\nversion = "1"\ntests = []\nweave = []\nneed = []\n')
    with pytest.raises(TableError, match="unknown key: need"):
        read_suites(path)


def test_an_unknown_suite_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["no-such"])
    assert "there is no suite no-such" in capsys.readouterr().err


def test_a_suite_without_tests_in_its_sdist_needs_a_checkout(capsys):
    with pytest.raises(SystemExit):
        main(["rich"])
    assert "--checkout rich=PATH" in capsys.readouterr().err


def test_the_result_of_a_suite_is_shown():
    plain, woven = Run({"a": PASSED}, cpu=2.0, rss=4096), Run({"a": FAILED}, cpu=5.0, rss=8192, crossings=3)
    suite = Suite("tiny", "1", ("tests",), (), sample=("tests/test_a.py",))
    result = Result(suite, {suite.sample: plain}, {"woven": woven})
    result.judgements["woven"] = judge(plain, woven, {})
    title, before, line, *rest = shown(result, notes=False).splitlines()
    assert title.startswith("tiny 1, Python ")
    assert before == "  plain: 1 tests of tests/test_a.py, 2.0 s of CPU, 4 MB"
    assert line == "  woven: 1 differ (0 known, 0 flaky), 3 crossings, CPU ×2.5, 8 MB"
    assert rest[0] == "    unlisted: a: passed -> failed (AssertionError)"
    result.judgements["woven"] = judge(plain, Run({}, fault="it died"), {})
    assert "crossings" not in shown(result, notes=False)


# --- rules ---


def test_mode_woven_runs_the_sample_of_a_suite_that_has_one():
    suite = Suite("tiny", "1", ("tests",), (), sample=("tests/test_a.py",))
    assert [suite.of_mode(mode).tests for mode in MODES] == [("tests",), ("tests",), ("tests/test_a.py",)]
    assert {Suite("tiny", "1", ("tests",), ()).of_mode(mode).tests for mode in MODES} == {("tests",)}


@pytest.mark.parametrize(
    ("modes", "expected"),
    [
        (("plain",), [("plain", "tests")]),
        (("woven",), [("plain", "tests/test_a.py"), ("woven", "tests/test_a.py")]),
        (("packs", "plain"), [("plain", "tests"), ("packs", "tests")]),
        (
            MODES,
            [
                ("plain", "tests"),
                ("packs", "tests"),
                ("plain", "tests/test_a.py"),
                ("woven", "tests/test_a.py"),
            ],
        ),
    ],
    ids=str,
)
def test_the_warm_up_collects_what_is_run_once_in_each_mode_and_plain(monkeypatch, tmp_path, modes, expected):
    collected = []
    monkeypatch.setattr(
        running, "run", lambda suite, _, mode: collected.append((mode, suite.tests, suite.arguments))
    )
    suite = Suite("tiny", "1", ("tests",), (), sample=("tests/test_a.py",), arguments=("-q",))
    warm_up(suite, Environment(Path(sys.executable), tmp_path, tmp_path), modes)
    arguments = ("-q", "--collect-only")
    assert sorted(collected) == sorted((mode, (tests,), arguments) for mode, tests in expected)


def test_every_definition_is_a_target_except_in_modules_that_are_left_out(tmp_path):
    package = tmp_path / "src" / "tiny"
    (package / "tests").mkdir(parents=True)
    (package / "__init__.py").write_text(
        "def a():\n    def b(): ...\n\nclass C:\n    def __init__(self): ...\n    def _d(self): ...\n    e = lambda self: 1\n"
    )
    (package / "tests" / "__init__.py").write_text("def t(): ...\n")
    (package / "template.py").write_text("def {{ name }}(): ...\n")
    suite = Suite(
        "tiny", "1", ("tests",), ("tiny", "tiny.**"), leave=("tiny.tests", "tiny.tests.**"), roots=("src",)
    )
    assert rules.targets(suite, tmp_path) == ["tiny:a", "tiny:a.<locals>.b", "tiny:C.__init__", "tiny:C._d"]
    assert "target" not in rules.rules_of(suite, "packs", tmp_path)


# --- a library that is really run ---

TINY = """
def double(number):
    return 2 * number
"""
TINY_TEST = """
import sys
from pathlib import Path
import pytest
import tiny

def test_same():
    assert tiny.double(2) == 4

def test_other():
    assert sys.modules.get("autochron.session.recording") is None

@pytest.mark.skip
def test_skipped(): ...

@pytest.mark.xfail(reason="meant to", strict=True)
def test_expected():
    assert tiny.double(2) == 5

def test_fails():
    tiny.double()

@pytest.fixture
def broken():
    raise LookupError

def test_set_up(broken): ...
"""
SUITE = Suite("tiny", "1", ("test_tiny.py",), ("tiny",))


@pytest.fixture
def environment(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    (source / "tiny.py").write_text(TINY)
    (source / "test_tiny.py").write_text(TINY_TEST)
    (source / "pytest.ini").write_text("[pytest]\n")
    plugins = tmp_path / "plugins"
    plugins.mkdir()
    (plugins / f"{REPORTER}.py").write_text((HERE / "reporter.py").read_text())
    path = (str(source), str(plugins), str(ROOT))
    return Environment(Path(sys.executable), source, tmp_path / "folder", path)


@pytest.mark.slow
def test_a_test_that_behaves_differently_when_recorded_is_reported(environment, tmp_path):
    plain = run(SUITE, environment, "plain")
    assert plain.fault == ""
    assert {test.partition("::")[2]: str(outcome) for test, outcome in plain.outcomes.items()} == {
        "test_same": "passed",
        "test_other": "passed",
        "test_skipped": "skipped",
        "test_expected": "xfailed",
        "test_fails": "failed (TypeError)",
        "test_set_up": "error (LookupError)",
    }
    woven = run(SUITE, environment, "woven")
    assert woven.fault == ""
    assert woven.crossings == 2
    assert min(plain.cpu, woven.cpu) > 0
    assert min(plain.rss, woven.rss) > 1000
    judgement = judge(plain, woven, {})
    assert list(judgement.unlisted) == ["test_tiny.py::test_other"]
    assert "passed -> failed (AssertionError)" in judgement.unlisted["test_tiny.py::test_other"]
    assert judge(plain, woven, {"test_tiny.py::test_other": "because"}).is_good
    figures = tmp_path / "figures.json"
    write([Result(SUITE, {SUITE.tests: plain}, {"woven": woven}, {"woven": judgement})], figures)
    (entry,) = json.loads(figures.read_text())["tiny"].values()
    assert (entry["tests"], entry["woven"]["differ"], entry["woven"]["crossings"]) == (6, 1, 2)


@pytest.mark.slow
def test_a_run_that_takes_too_long_or_dies_has_a_fault(environment):
    test = environment.source / "test_tiny.py"
    test.write_text("import time\ndef test_late(): time.sleep(60)\n")
    # Long enough for pytest to start on a busy machine; the test sleeps for longer.
    result = run(Suite("tiny", "1", SUITE.tests, SUITE.weave, limit=20), environment, "plain")
    assert result.fault.startswith("it took too long; it died in test_tiny.py::test_late")
    test.write_text("import os\ndef test_a(): ...\ndef test_dies(): os._exit(0)\n")
    result = run(SUITE, environment, "plain")
    assert result.fault.startswith("it died in test_tiny.py::test_dies")
    assert result.outcomes == {"test_tiny.py::test_a": PASSED}


def test_the_meter_counts_processes_that_a_command_leaves_behind(tmp_path):
    work = "sum(range(10_000_000))"
    forked = f"if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0: {work}\n    os._exit(0)"
    program = f"import os\n{forked}\nos.wait()\n"
    measured = {}
    for name, text in (("orphan", program), ("empty", "")):
        command = [sys.executable, meter.__file__, str(tmp_path / name), "60", sys.executable, "-c", text]
        assert subprocess.run(command, check=False).returncode == 0
        measured[name] = json.loads((tmp_path / name).read_text())
    assert measured["orphan"]["cpu"] > measured["empty"]["cpu"]
    assert measured["orphan"]["status"] == 0

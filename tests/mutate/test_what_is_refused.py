"""An incident that can't be studied is refused with status 2 and one line that says what to do."""

import os
import re

import pytest

from tests.mutate.desks import TEST, copy_incident, mutate

FLAKY = TEST.replace(
    "    agent.main()",
    """    import pathlib
    place = pathlib.Path(__file__).with_name("passed")
    passed = place.exists()
    place.unlink() if passed else place.touch()
    agent.main()
    assert passed""",
)
ASSERTS_NOTHING = TEST.partition("    assert")[0]
SWALLOWS = TEST.replace(
    "    agent.main()", "    try:\n        agent.main()\n    except RuntimeError:\n        return"
)
NO_MARKER = "import agent\n\n\ndef test_it_pays():\n    assert agent.main()\n"

NO_DOUBLE = """
import tools

if tools.refund.__module__ == "guarded":
    raise RuntimeError("there is no test double")


def test_it():
    pass
"""

FIRST_LINE = "autochron: refund: the tests with the fix\n"

REFUSED = {
    "no such file": (
        {},
        ("--tool", "guardet.py:refund"),
        r"refund: there is no file guardet\.py in \S+, which was to have refund; nearest is `guarded\.py`",
    ),
    "no such function": (
        {},
        ("--tool", "guarded.py:refnd"),
        r"refund: guarded\.py has no function `refnd`; nearest is `refund`; name one that it defines",
    ),
    "no function": (
        {},
        ("--tool", "tools.py:PAID"),
        r"refund: tools\.py has no function `PAID`; known are `refund`; name one that it defines",
    ),
    "no file named": (
        {},
        ("--tool", "refund"),
        r"refund: --tool refund: name a function as FILE:NAME, from the incident's folder",
    ),
    "no such operators": (
        {},
        ("--operators", "papr"),
        r"there is no operator set `papr`; nearest is `paper`",
    ),
    "nothing to change": (
        {},
        ("--operators", "thresholds"),
        r"the operators thresholds find nothing to change in guarded\.py:refund; name others with --operators, or .*",
    ),
    "a test that fails": (
        {"test_incident": TEST.replace('"blocked"', '"paid"')},
        (),
        (
            r"refund: its test fails before anything is mutated \(AssertionError: assert 'blocked' == 'paid'\); mend that"
            r" first, with `pytest refund`"
        ),
    ),
    "a flaky test": (
        {"test_incident": FLAKY},
        (),
        (
            r"refund: its test is flaky: with the same code it passes, and then it fails \(AssertionError: assert False\);"
            r" so its .* Make what differs a boundary .*"
        ),
    ),
    "no marker": (
        {"test_incident": NO_MARKER},
        (),
        r"refund: there is no test marked autochron in test_incident\.py; mark what replays a trace: @pytest\.mark\..*",
    ),
    "no tests": (
        {"test_incident": None},
        (),
        r"refund holds no test_\*\.py, so nothing could kill a mutant; name the folder of an incident",
    ),
    "a guard that is no Python": (
        {"guarded": "def refund(:\n"},
        (),
        r"refund: what it tests can't be imported: SyntaxError: invalid syntax \(guarded\.py, line 1\)",
    ),
    "a guard that raises": (
        {"guarded": "raise SystemExit(1)\n"},
        (),
        r"refund: what it tests can't be imported: SystemExit: 1",
    ),
    "a guard in C": (
        {"guarded": "from operator import concat as refund\n"},
        (),
        (
            r"refund: guarded\.py:refund has no code of Python's that could be mutated; write the guard in Python, or name a"
            r" function of yours with --tool FILE:NAME"
        ),
    ),
    "a test that is no Python": (
        {"test_incident": "def test_it(:\n"},
        (),
        r"refund: test_incident\.py can't be collected: SyntaxError: invalid syntax",
    ),
    "mocks that can't be collected": (
        {"test_mocks": NO_DOUBLE},
        (),
        r"refund: test_mocks\.py can't be collected: RuntimeError: there is no test double",
    ),
    "options that pytest doesn't know": (
        {"pytest__ini": "[pytest]\npythonpath = .\naddopts = --nonsense\n"},
        (),
        r"refund: pytest ends with status 4 there: .*unrecognized arguments: --nonsense",
    ),
    "rules that mean nothing": (
        {"autochron__toml": "version = 1\npacks = 3\n"},
        (),
        r"refund: pytest ends with status 4 there: autochron\.toml:2: `packs` must be .*",
    ),
    "no trace": (
        {"trace__jsonl": None},
        (),
        r"refund: there is no trace file trace\.jsonl; record it with `pytest --autochron=record .*",
    ),
    "no trace in it": (
        {"trace__jsonl": "{}\n"},
        (),
        r"refund: \S+/refund/trace\.jsonl:1: this is no autochron trace: .*; give the path of a trace file",
    ),
    "a test that asserts nothing": (
        {"test_incident": ASSERTS_NOTHING},
        (),
        (
            r"refund: no report, because a canary failed: the function without the fix: cut-point"
            r" passes, expected: fails; let the test look at what the tool gives"
        ),
    ),
    "a test that swallows what is raised": (
        {"test_incident": SWALLOWS},
        (),
        (
            r"refund: no report, because a canary failed: refund raises: cut-point"
            r" passes, expected: fails; let the test look at what the tool gives"
        ),
    ),
    "less time than the fix takes": (
        {},
        ("--timeout", "0.0001"),
        r"refund: with the fix the tests take \S+ s, and --timeout gives a trial 0\.0001 s; give it more",
    ),
    "results in a file's place": (
        {},
        ("--out", "refund/agent.py"),
        r"refund/agent\.py/journal/refund\.jsonl can't be written \(Not a directory\); name another folder with --out",
    ),
}
IS_FAST = {"no such function", "no file named", "no tests", "a test that is no Python", "no such operators"}


@pytest.mark.parametrize(
    "case", [name if name in IS_FAST else pytest.param(name, marks=pytest.mark.slow) for name in REFUSED]
)
def test_an_incident_that_cannot_be_studied_is_refused_in_one_line(desk, tmp_path, case):
    files, words, expected = REFUSED[case]
    copy_incident(desk, tmp_path / "refund", **files)
    command = mutate(tmp_path, "refund", *words)
    assert (command.status, command.text) == (2, "")
    # A line says what is tried; it is missing where that is refused before anything runs.
    slow = r"(autochron: refund: each trial runs the whole test, since [^\n]+\n)?"
    assert re.fullmatch(
        rf"({re.escape(FIRST_LINE)})?{slow}autochron: {expected} \(usage\)\n", command.said
    ), command.said


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_is_not_writable_is_refused(desk, tmp_path):
    (tmp_path / "out").mkdir(mode=0o500)
    command = mutate(tmp_path, desk, "--out", "out")
    assert command.status == 2
    assert (
        "out/journal/refund.jsonl can't be written (Permission denied); name another folder" in command.said
    )


def test_two_folders_of_one_name_are_refused(desk, tmp_path):
    copy_incident(desk, tmp_path / "refund")
    command = mutate(tmp_path, "refund", desk)
    assert (command.status, command.said) == (
        2,
        "autochron: two folders are called refund; name them in runs of their own, with an --out each (usage)\n",
    )

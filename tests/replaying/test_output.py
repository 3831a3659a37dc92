"""The standard output of a replay: which lines differ, which line of code wrote them, and what may differ."""

import pytest

from tests.cli.processes import autochron

RULES = """version = 1
packs = []

[[boundary]]
name = "{__name__}"
kind = "tool"
define = "tools:*"
"""
HEAD = (
    "import logging, os, sys, time\nimport tools\ntools.look_up('mug')\nWHAT = os.environ.get('WHAT', '')\n"
)


def lay_out(folder, source, rules=""):
    (folder / "autochron.toml").write_text(RULES + rules)
    (folder / "tools.py").write_text("def look_up(item):\n    return item\n")
    (folder / "agent.py").write_text(HEAD + source)
    recorded = autochron(folder, "run", "agent.py")
    assert recorded.status == 0, recorded.said
    return recorded


LOGS = """
logging.basicConfig(stream=sys.stdout, level="INFO", format="%(asctime)s %(name)s %(message)s")
logging.info("start %s", WHAT)
time.sleep(0.002)
logging.info("it took %.6f seconds", 0.001)
print("done")
"""


def test_times_in_lines_of_logging_are_counted_and_no_divergence(tmp_path):
    lay_out(tmp_path, LOGS)
    for _ in range(5):
        replayed = autochron(tmp_path, "replay", "last")
        assert replayed.status == 0, replayed.said
        assert "output lines in which only times differ, written by a library of logs: 2" in replayed.said


def test_another_text_in_a_log_line_is_a_divergence(tmp_path):
    lay_out(tmp_path, LOGS)
    replayed = autochron(tmp_path, "replay", "last", env={"WHAT": "other"})
    assert replayed.status == 1, replayed.said
    assert "line 1 of the output was" in replayed.said
    assert "written at agent.py:7" in replayed.said


def test_times_in_lines_of_rich_are_no_divergence(tmp_path):
    pytest.importorskip("rich")
    source = (
        "from rich.console import Console\nconsole = Console()\n"
        "for each in range(3):\n    console.log('step', each)\n    time.sleep(0.4)\n"
    )
    lay_out(tmp_path, source)
    replayed = autochron(tmp_path, "replay", "last")
    assert replayed.status == 0, replayed.said


TIMED = "print(f'it is {WHAT or 1} and took {time.perf_counter_ns() % 1000} ms')\n"


def test_a_time_that_the_program_prints_is_a_divergence_with_its_line(tmp_path):
    lay_out(tmp_path, TIMED)
    replayed = autochron(tmp_path, "replay", "last")
    assert replayed.status == 1, replayed.said
    assert (
        "written at agent.py:5; only times differ: record that call, or let it be with an [[output]] pattern"
        in replayed.said
    )


def test_an_output_pattern_excludes_a_part_of_a_line(tmp_path):
    lay_out(tmp_path, TIMED, '[[output]]\npattern = "took [0-9]+ ms"\nreason = "a duration"\n')
    replayed = autochron(tmp_path, "replay", "last")
    assert replayed.status == 0, replayed.said
    assert "output lines that [[output]] lets differ: 1 (a duration)" in replayed.said
    changed = autochron(tmp_path, "replay", "last", env={"WHAT": "2"})
    assert changed.status == 1, changed.said


@pytest.mark.parametrize("pattern", [".*", "(?s).+", "[^x]*"])
def test_a_pattern_that_matches_every_line_is_refused(tmp_path, pattern):
    (tmp_path / "autochron.toml").write_text(
        f'version = 1\n[[output]]\npattern = "{pattern}"\nreason = "all"\n'
    )
    (tmp_path / "agent.py").write_text("")
    refused = autochron(tmp_path, "run", "agent.py")
    assert refused.status == 2
    assert "fits every line, so nothing would be compared" in refused.said
    assert "autochron.toml:3" in refused.said


def test_a_pattern_that_is_no_regular_expression_is_refused(tmp_path):
    (tmp_path / "autochron.toml").write_text('version = 1\n[[output]]\npattern = "("\nreason = "all"\n')
    (tmp_path / "agent.py").write_text("")
    refused = autochron(tmp_path, "run", "agent.py")
    assert refused.status == 2
    assert "is no regular expression" in refused.said


def test_output_that_is_too_long_to_be_kept_is_compared_by_digest(tmp_path):
    source = "for each in range(5_000):\n    print('a mug was sold ' * 66)\nprint(WHAT)\n"
    lay_out(tmp_path, source)
    assert autochron(tmp_path, "replay", "last").status == 0
    changed = autochron(tmp_path, "replay", "last", env={"WHAT": "other"})
    assert changed.status == 1, changed.said
    assert "bytes more, with the digest" in changed.said


ERRORS = {
    "a print": "print(WHAT or 'one', file=sys.stderr)\n",
    "a log": "logging.warning('it is %s', WHAT or 'one')\n",
    "an uncaught error": "raise ValueError(f'bad {WHAT}')\n",
    "an exit": "raise SystemExit(f'bad {WHAT}')\n",
}


def with_errors(folder, source, rules="stderr = true\n"):
    (folder / "autochron.toml").write_text(RULES.replace("packs = []\n", f"packs = []\n{rules}"))
    (folder / "tools.py").write_text("def look_up(item):\n    return item\n")
    (folder / "agent.py").write_text(HEAD + source)
    autochron(folder, "run", "agent.py")


@pytest.mark.parametrize("name", ERRORS)
def test_standard_error_is_compared_if_the_rules_ask_for_it(tmp_path, name):
    with_errors(tmp_path, ERRORS[name])
    assert autochron(tmp_path, "replay", "last").said.count("the same: 1 crossing") == 1
    changed = autochron(tmp_path, "replay", "last", env={"WHAT": "other"})
    assert changed.status == 1, changed.said
    assert "of standard error was" in changed.said


def test_standard_error_that_was_not_recorded_is_not_compared(tmp_path):
    with_errors(tmp_path, ERRORS["a print"], rules="")
    assert autochron(tmp_path, "replay", "last", env={"WHAT": "other"}).status == 0
    (tmp_path / "autochron.toml").write_text(RULES.replace("packs = []\n", "packs = []\nstderr = true\n"))
    replayed = autochron(tmp_path, "replay", "last")
    assert "the same, except 1 value not compared" in replayed.said
    assert "standard error was not recorded, so it is not compared" in replayed.said

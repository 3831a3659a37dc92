"""Calls whose value only reaches logs, metrics, sleeps, keys or names of temporary files are told apart."""

import ast
import json

import pytest

from autochron.cli import main
from autochron.detect.scan.harmless_uses import harmless
from autochron.detect.scan.scan import scan
from autochron.detect.scan.value_uses import ValueUses
from tests.cli.processes import autochron
from tests.detect.running import cases, run

HARMLESS = cases("harmless")


def marked(program, mark):
    return {number for number, line in enumerate(program.splitlines(), start=1) if f"# {mark}" in line}


@pytest.mark.parametrize("program", HARMLESS.values(), ids=HARMLESS)
def test_values_that_reach_nothing_are_harmless_and_all_others_are_not(program):
    found = scan(program)
    assert {call.line for call in found if call.is_harmless} == marked(program, "harmless")
    assert {call.line for call in found if not call.is_harmless} == marked(program, "→")


def test_a_module_that_reflects_has_no_harmless_value():
    program = (
        "import time, uuid\ndef f(d):\n    key = uuid.uuid4()\n    locals()\n    time.sleep(time.time())\n"
    )
    assert harmless(ValueUses(ast.parse(program))) == frozenset()


LIMITER = """\
import time, uuid


class Limiter:
    def __init__(self):
        self._next_at = 0.0

    def wait(self):
        pause = self._next_at - time.monotonic()
        if pause > 0:
            time.sleep(pause)
        self._next_at = time.monotonic() + 0.001


limiter = Limiter()
limiter.wait()
print(uuid.uuid4())
"""


def test_a_recording_tells_them_as_covered(tmp_path):
    findings, problems, _ = run(tmp_path, LIMITER)
    assert problems == []
    assert [(row[1], row[6]) for row in findings] == [(9, "harmless"), (12, "harmless"), (17, None)]


def test_a_check_counts_them_apart_and_does_not_fail_for_them(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "autochron.toml").write_text("version = 1\n")
    (tmp_path / "agent.py").write_text(LIMITER)

    def check(*options):
        with pytest.raises(SystemExit) as ended:
            main(["check", "agent.py", *options])
        return ended.value.code, capsys.readouterr().out

    status, out = check("--format", "json")
    report = json.loads(out)
    assert status == 1
    assert [each["site"]["line"] for each in report["findings"]] == [17]
    assert [each["site"]["line"] for each in report["harmless"]] == [9, 12]
    assert report["coverage"] == {"covered": 0, "total": 1, "percent": 0.0}
    told = (
        "2 more calls only reach logs, metrics, sleeps, keys or names of temporary files: --format json has them under"
        " `harmless`"
    )
    assert check()[1].splitlines()[-2:] == [
        "1 unmarked call in 1 file; of 1 in all, 0 are inside a boundary, recorded or ignored (0 %)",
        told,
    ]
    (tmp_path / "agent.py").write_text(LIMITER.replace("print(uuid.uuid4())", ""))
    assert check() == (0, f"{told}\n")


def test_a_run_counts_no_harmless_call_among_those_to_cover(tmp_path):
    (tmp_path / "autochron.toml").write_text("version = 1\n")
    (tmp_path / "agent.py").write_text(LIMITER)
    recorded = autochron(tmp_path, "run", "agent.py")
    assert recorded.status == 0
    assert (
        "1 non-deterministic call outside every boundary, which a replay makes for real; of 1 in all, 0 are inside"
        in recorded.said
    )

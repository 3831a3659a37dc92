"""A finding names the lines that read from what its call has opened, or that run what it was told for."""

import io
import json

import pytest

from autochron.cli import main
from autochron.detect.scan.scan import scan
from autochron.model import Checked, Finding, Site
from autochron.report.findings import sarif, write_checked
from tests.detect.running import cases

READS = cases("reads")
PROGRAM = "def load(path):\n    with open(path) as file:\n        return file.read()\n"


def marked(program, mark):
    return {number for number, line in enumerate(program.splitlines(), start=1) if line.endswith(f"# {mark}")}


@pytest.mark.parametrize("program", READS.values(), ids=READS)
def test_the_lines_that_read_are_named(program):
    found = scan(program)
    assert {call.line for call in found} == marked(program, "opens")
    assert {line for call in found for line in call.reads} == marked(program, "reads")


def test_check_shows_where_a_file_is_read(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agent.py").write_text(PROGRAM)

    def check(form):
        with pytest.raises(SystemExit):
            main(["check", "--format", form, "agent.py"])
        return capsys.readouterr().out

    assert "    # read at line 3" in check("text").splitlines()
    (finding,) = json.loads(check("json"))["findings"]
    assert finding["reads"] == [3]
    (result,) = json.loads(check("sarif"))["runs"][0]["results"]
    (related,) = result["relatedLocations"]
    assert related["physicalLocation"]["region"] == {"startLine": 3}


def test_many_reads_are_shortened():
    finding = Finding(
        site=Site("a.py", 1, "", ""),
        category="files",
        call="open",
        count=0,
        tier="direct",
        reads=tuple(range(2, 20)),
    )
    checked = Checked(
        findings=(finding,), unread=(), stale=(), files=1, lines=20, read=frozenset(), autochron="0"
    )
    stream = io.StringIO()
    write_checked(checked, stream, form="text", with_all=True)
    assert "    # read at lines 2, 3, 4, 5, 6, 7, …" in stream.getvalue().splitlines()
    assert len(sarif(checked)["runs"][0]["results"][0]["relatedLocations"]) == 18

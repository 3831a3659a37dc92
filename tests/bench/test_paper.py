"""`python -m bench.paper` writes figures of a stored study, and refuses wrong input before it measures anything."""

import re
import shutil
import xml.etree.ElementTree as ET

import pytest
from msgspec import json, structs

from bench.paper import __main__ as paper
from bench.paper import plots, table, trials
from incidents.suite import INCIDENTS, load, load_all

KEPT = min(paper.RESULTS.glob("paper-*.json"))


@pytest.fixture
def study():
    return paper.read(KEPT)


def run_paper(*words, capsys):
    try:
        status = paper.main([str(word) for word in words])
    except SystemExit as system_exit:
        status = system_exit.code
    return status, *capsys.readouterr()


def test_the_requested_files_are_written(tmp_path, capsys, study):
    words = (
        "--json",
        tmp_path / "s.json",
        "--tex",
        tmp_path / "s.tex",
        "--plots",
        tmp_path / "new" / "plots",
    )
    status, out, _ = run_paper("--from", KEPT, *words, capsys=capsys)
    assert status == 0
    assert paper.read(tmp_path / "s.json") == study
    assert sorted(file.name for file in (tmp_path / "new" / "plots").iterdir()) == [
        "methods.svg",
        "passes.svg",
    ]
    assert "written: " in out
    assert sorted(file.name for file in tmp_path.iterdir()) == ["new", "s.json", "s.tex"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nosuch",), r"nosuch has no incident\.toml; name a folder of incidents/"),
        (("--from", "nosuch.json"), "No such file or directory: 'nosuch.json'"),
        (
            ("--from", __file__),
            r"is no study: .*; make one with python -m bench\.paper --json FILE",
        ),
        (("--timed", "0"), "0 is no number of times; 1 and more are"),
        (("--timed", "-3"), "argument --timed"),
        (("--timed", "x"), "x is no number of times"),
        (("--peer", "/nonexistent"), r"/nonexistent has no examples/benchmark/harness\.py"),
        (("--json", "/nonexistent/s.json"), "/nonexistent/s.json can't be written"),
        (("--tex", "/"), "/ can't be written"),
        (("--plots", f"{__file__}/plots"), "plots can't be written to"),
        (("refund", "--readme"), "--readme keeps a study of all incidents"),
        (("refund", "--from", str(KEPT)), "--from takes the study as it is"),
    ],
)
def test_wrong_input_is_refused_before_anything_is_measured(words, message, capsys, monkeypatch):
    monkeypatch.setattr(trials, "measure", lambda *_, **__: pytest.fail("it measures"))
    status, _, err = run_paper(*words, capsys=capsys)
    assert status == 2
    assert re.search(message, " ".join(err.split()))


def test_a_study_of_some_incidents_is_not_put_into_the_readme(study, tmp_path, capsys):
    (tmp_path / "some.json").write_bytes(json.encode(structs.replace(study, costs=None)))
    status, _, err = run_paper("--from", tmp_path / "some.json", "--readme", capsys=capsys)
    assert (status, err) == (2, "bench.paper: --readme keeps a study of all incidents, and this one is not\n")


@pytest.mark.slow
def test_a_single_incident_can_be_measured(tmp_path, capsys):
    status, out, err = run_paper("invoice", "--timed", "1", "--json", tmp_path / "s.json", capsys=capsys)
    assert (status, err) == (0, "")
    assert re.search(r"invoice +anthropic +fails +passes +passes +5/5 +passes +passes +0/20 ", out)
    (row,) = paper.read(tmp_path / "s.json").rows
    assert (row.full_stub > 0, row.cut_point > 0) == (True, True)


def test_a_fault_of_an_incident_is_shown_and_sets_the_status(study, tmp_path, capsys):
    first, *rest = study.rows
    bad = structs.replace(first, fixed=False, wrong=("its test fails on the tool that is guarded",))
    (tmp_path / "s.json").write_bytes(json.encode(structs.replace(study, rows=(bad, *rest))))
    status, out, _ = run_paper("--from", tmp_path / "s.json", capsys=capsys)
    assert status == 1
    assert f"{first.name}: its test fails on the tool that is guarded" in out


# --- the table --------------------------------------------------------------------------------------------------------


def test_the_table_has_a_line_of_mutants_only_if_there_are_some(study):
    without = tuple(structs.replace(row, mutants=0, killed=0) for row in study.rows)
    shown = [line.macro for line in table.lines(structs.replace(study, rows=without))]
    assert "mutants" not in shown
    rows = tuple(structs.replace(row, mutants=10, killed=7) for row in study.rows)
    (line,) = (
        table_line
        for table_line in table.lines(structs.replace(study, rows=rows))
        if table_line.macro == "mutants"
    )
    assert line.cells == ("51/192", "", "42/60", "84/120")


def test_the_figures_are_computed_from_the_rows(study):
    rows = tuple(structs.replace(row, detected=row.name != "budget", reached=2) for row in study.rows)
    cells = {line.macro: line.cells[2:] for line in table.lines(structs.replace(study, rows=rows))}
    assert (cells["detected"], cells["reached"]) == (("6/6", "11/12"), ("12", "24"))
    alone = structs.replace(study, rows=tuple(row for row in study.rows if row.name == "budget"), costs=None)
    cells = {line.macro: line.cells[2:] for line in table.lines(alone)}
    assert cells["detected"] == ("", "1/1")
    assert "passstub" not in cells


def test_the_latex_file_consists_of_valid_macros(study):
    text = table.latex(study)
    names = re.findall(
        r"^\\newcommand\{\\(ac[A-Za-z]+)\}\{((?:[^\\{}%&#_$]|\\[%&#_$])*)\}$", text, re.MULTILINE
    )
    first, *macros = text.splitlines()
    assert first.startswith("% ")
    assert len(dict(names)) == len(names) == len(macros) > 60
    assert dict(names)["acDetectedAll"] == "12/12"


# --- the plots --------------------------------------------------------------------------------------------------------

SVG = "{http://www.w3.org/2000/svg}"


def boxes(picture, kind):
    return [element for element in ET.fromstring(picture).iter(f"{SVG}rect") if element.get("class") == kind]


def test_the_plot_of_methods_has_a_box_for_each_incident_and_method(study):
    rows = tuple(structs.replace(row, mocked=row.name == "refund") for row in study.rows)
    picture = plots.pictures(structs.replace(study, rows=rows))["methods"]
    assert (len(boxes(picture, "first")), len(boxes(picture, "none"))) == (13, 23)
    words = [element.text for element in ET.fromstring(picture).iter(f"{SVG}text")]
    assert set(words) > {"12 of 12", "0 of 12", "1 of 12", "overdraft", "serve everything"}


def test_the_plot_of_passes_is_to_scale(study):
    costs = structs.replace(study.costs, full_stub=1.0, cut_point=2.0, full_stub_peer=None)
    picture = plots.pictures(structs.replace(study, costs=costs))["passes"]
    widths = [float(box.get("width")) for box in boxes(picture, "first") + boxes(picture, "second")]
    ours, paper_stub, _, ours_cut, paper_cut, _ = widths  # the others are boxes of the key
    assert ours_cut == pytest.approx(2 * ours)
    assert paper_stub == pytest.approx(3.5 * ours, abs=0.1)
    assert paper_cut == pytest.approx(3.6 * ours, abs=0.1)
    assert "passes" not in plots.pictures(structs.replace(study, costs=None))


def test_the_digest_depends_on_the_files_of_the_incidents(tmp_path):
    shutil.copytree(INCIDENTS / "invoice", tmp_path / "invoice")
    copied, original = load(tmp_path / "invoice"), load(INCIDENTS / "invoice")
    assert paper.digest([copied]) == paper.digest([original]) != paper.digest(load_all())
    with (tmp_path / "invoice" / "tools.py").open("a") as file:
        file.write("#")
    assert paper.digest([copied]) != paper.digest([original])

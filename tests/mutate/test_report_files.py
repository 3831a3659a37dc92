"""The files of a mutation study (JSON, JSON lines, LaTeX): complete or absent, and the same bytes each time."""

import os
import re

import msgspec
import pytest

from autochron.errors import UsageError
from autochron.mutate.model import Canary, Result, Study
from autochron.mutate.report.files import encode_mutants, encode_study, write_all
from autochron.mutate.report.latex import distinct_words, escaped, tex_macros
from autochron.mutate.report.page import write_page
from tests.mutate.studies import complete_study, empty, refund, study, with_result

NAMES = ["study.json", "mutants.jsonl", "report.json", "report.html", "macros.tex"]


def contents(folder):
    return {name: (folder / name).read_bytes() for name in os.listdir(folder)}


def test_all_files_are_the_same_bytes_each_time(tmp_path):
    folder = tmp_path / "new" / "results"
    paths = write_all(complete_study(), str(folder))
    assert paths == [str(folder / name) for name in NAMES]
    first = contents(folder)
    assert sorted(first) == sorted(NAMES)
    write_all(msgspec.json.decode(first["study.json"], type=Study), str(folder))
    assert contents(folder) == first


def test_study_json_is_the_study():
    data = encode_study(complete_study())
    assert msgspec.json.decode(data, type=Study) == complete_study()
    assert list(msgspec.json.decode(data)) == sorted(msgspec.json.decode(data))


def test_mutants_jsonl_has_a_line_for_each_result_in_the_order_of_the_source():
    incident = refund()
    upside_down = msgspec.structs.replace(incident, results=incident.results[::-1])
    lines = encode_mutants(study(incident, empty())).splitlines()
    assert encode_mutants(study(upside_down, empty())).splitlines() == lines
    results = [msgspec.json.decode(line, type=Result) for line in lines]
    assert [result.mutant.line for result in results] == [3, 7, 7, 7, 7, 7, 7, 7, 7, 8, 8, 9, 11]
    assert {result.mutant.id: result for result in results} == {
        result.mutant.id: result for result in incident.results
    }
    for line in lines:
        assert list(msgspec.json.decode(line)) == sorted(msgspec.json.decode(line))
    assert encode_mutants(study(empty())) == b""


def test_a_study_whose_canaries_do_not_hold_gets_no_file(tmp_path):
    bad = msgspec.structs.replace(refund(), canaries=(Canary("the fix", "cut-point", "passed", "crash"),))
    for write in (write_all, lambda subject, folder: write_page(subject, os.path.join(folder, "x.html"))):
        with pytest.raises(UsageError, match="a canary doesn't hold"):
            write(study(bad), str(tmp_path))
    assert os.listdir(tmp_path) == []


def test_a_method_that_was_not_tried_is_refused_as_the_status(tmp_path):
    with pytest.raises(UsageError) as caught:
        write_all(complete_study(), str(tmp_path), method="guess")
    assert str(caught.value) == (
        "the study has no method 'guess'; name one that it tried: full-stub, mocks, cut-point, full-output, widened (usage)"
    )
    assert os.listdir(tmp_path) == []


def test_a_path_that_cannot_be_a_folder_is_refused(tmp_path):
    file = tmp_path / "file"
    file.write_text("kept")
    with pytest.raises(UsageError) as caught:
        write_all(complete_study(), str(file))
    assert (
        str(caught.value)
        == f"{str(file / 'study.json')!r} can't be written (File exists); give another path (usage)"
    )
    with pytest.raises(UsageError, match="Not a directory"):
        write_all(complete_study(), str(file / "below"))
    with pytest.raises(UsageError, match="null"):
        write_all(complete_study(), f"{tmp_path}/a\0b")
    assert contents(tmp_path) == {"file": b"kept"}


def test_a_file_that_cannot_be_replaced_leaves_no_temporary_file(tmp_path):
    (tmp_path / "report.html").mkdir()
    with pytest.raises(UsageError, match=r"report\.html' is no regular file"):
        write_all(complete_study(), str(tmp_path))
    assert sorted(os.listdir(tmp_path)) == ["mutants.jsonl", "report.html", "report.json", "study.json"]


def test_a_page_alone_is_written_into_the_current_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_page(complete_study(), "page.html")
    assert os.listdir(tmp_path) == ["page.html"]


# --- LaTeX --------------------------------------------------------------------------------------------------------------


def macros_of(subject):
    lines = tex_macros(subject).splitlines()
    assert lines[0] == "% Made by autochron mutate"
    pairs = [re.fullmatch(r"\\newcommand\{\\([A-Za-z]+)\}\{(.*)\}", line).groups() for line in lines[1:]]
    assert len({name for name, _ in pairs}) == len(pairs)  # LaTeX stops at a macro that is defined twice
    return dict(pairs)


def test_the_macros_that_the_papers_sources_use():
    macros = macros_of(complete_study())
    names = ("mutantsTotal", "mutantsKilledCP", "mutantsKilledFS", "mutantsSurvivedCP", "mutationScoreCP")
    assert [macros[name] for name in names] == ["13", "8", "0", "5", "61.5"]


def test_all_macros():
    macros = macros_of(study(refund(), empty(), methods=("full-stub", "cut-point", "widened")))
    kinds = (
        "Passed",
        "Assertion",
        "Divergence",
        "Crash",
        "Exit",
        "TimeOut",
        "Memory",
        "Signal",
        "Compile",
        "Output",
    )
    eight = dict.fromkeys(kinds, "1") | {"Passed": "0"}
    assert macros == {
        "mutationOperators": "extended", "mutationIncidents": "2",
        "mutantsGenerated": "19", "mutantsSameBytecode": "5", "mutantsDuplicates": "1", "mutantsTotal": "13",
        "mutantsEquivalent": "1", "mutantsUnsafe": "2", "mutantsEscaped": "1",
        "mutationSample": "2", "mutationSampleAgrees": "2",
        "mutantsKilledFS": "0", "mutantsSurvivedFS": "13", "mutationScoreFS": "0.0",
        "mutationScoreLowFS": "--", "mutationScoreHighFS": "--", "mutationScoreRealFS": "0.0",
        "mutantsKilledCP": "8", "mutantsSurvivedCP": "5", "mutationScoreCP": "61.5",
        "mutationScoreLowCP": "--", "mutationScoreHighCP": "--", "mutationScoreRealCP": "66.7",
        "mutantsKilledWD": "11", "mutantsSurvivedWD": "2", "mutationScoreWD": "84.6",
        "mutationScoreLowWD": "--", "mutationScoreHighWD": "--", "mutationScoreRealWD": "91.7",
        **{f"mutantsKilledFSBy{kind}": "0" for kind in kinds},
        **{f"mutantsKilledCPBy{kind}": count for kind, count in (eight | {"Output": "0"}).items()},
        **{f"mutantsKilledWDBy{kind}": count for kind, count in (eight | {"Output": "3"}).items()},
        "survivorsEscape": "1", "survivorsOutput": "1", "survivorsOtherInput": "1", "survivorsSame": "2",
        "mutantsTotalOfRefund": "13", "mutantsKilledFSOfRefund": "0", "mutantsKilledCPOfRefund": "8",
        "mutantsKilledWDOfRefund": "11", "mutantsTotalOfStaleQuoteTwo": "0", "mutantsKilledFSOfStaleQuoteTwo": "0",
        "mutantsKilledCPOfStaleQuoteTwo": "0", "mutantsKilledWDOfStaleQuoteTwo": "0",
    }  # fmt: skip


def test_scores_of_no_mutants_are_dashes_and_an_unknown_method_keeps_its_name():
    macros = macros_of(study(empty(), methods=("by-hand",)))
    assert (macros["mutantsKilledByHand"], macros["mutationScoreByHand"]) == ("0", "--")
    assert "mutantsEscaped" not in macros


def test_names_become_distinct_words_of_letters():
    assert distinct_words(["double_charge", "a-b", "a_b", "ü", "quote2"]) == [
        "DoubleCharge",
        "AB",
        "ABX",
        "X",
        "QuoteTwo",
    ]


def test_macros_of_incidents_and_of_kinds_do_not_clash():
    subject = study(*(msgspec.structs.replace(empty(), name=name) for name in ("by-exit", "a-b", "a_b")))
    assert macros_of(subject)["mutantsKilledCPByExit"] == macros_of(subject)["mutantsKilledCPOfByExit"] == "0"


def test_special_characters_of_latex_are_escaped():
    assert escaped(r"a_b 5% & $x #1 {y} ~ ^ \z") == (
        r"a\_b 5\% \& \$x \#1 \{y\} \textasciitilde{} \textasciicircum{} \textbackslash{}z"
    )
    assert macros_of(study(empty(), operators="my_set"))["mutationOperators"] == r"my\_set"


def test_a_refuted_proof_is_not_counted_as_equivalent():
    assert macros_of(study(with_result(refund(), 18, proof="so")))["mutantsEquivalent"] == "1"

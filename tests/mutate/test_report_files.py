"""The files of a mutation study: JSON, JSON lines, LaTeX; whole or not at all, and the same bytes each time."""

import os
import re

import msgspec
import pytest

from autochron.errors import UsageError
from autochron.mutate.model import Canary, Result, Study
from autochron.mutate.report.files import encode_mutants, encode_study, write_all
from autochron.mutate.report.latex import distinct_words, escaped, tex_macros
from autochron.mutate.report.page import write_page
from tests.mutate.studies import changed, empty, refund, study, whole

NAMES = ["study.json", "mutants.jsonl", "report.json", "report.html", "macros.tex"]


def contents(folder):
    return {name: (folder / name).read_bytes() for name in os.listdir(folder)}


def test_all_files_are_written_twice_the_same(tmp_path):
    folder = tmp_path / "new" / "results"
    paths = write_all(whole(), str(folder))
    assert paths == [str(folder / name) for name in NAMES]
    first = contents(folder)
    assert sorted(first) == sorted(NAMES)
    write_all(msgspec.json.decode(first["study.json"], type=Study), str(folder))
    assert contents(folder) == first


def test_study_json_is_the_study():
    data = encode_study(whole())
    assert msgspec.json.decode(data, type=Study) == whole()
    assert list(msgspec.json.decode(data)) == sorted(msgspec.json.decode(data))


def test_mutants_jsonl_is_a_line_for_each_result_in_the_order_of_the_source():
    incident = refund()
    upside_down = msgspec.structs.replace(incident, results=incident.results[::-1])
    lines = encode_mutants(study(incident, empty())).splitlines()
    assert encode_mutants(study(upside_down, empty())).splitlines() == lines
    found = [msgspec.json.decode(line, type=Result) for line in lines]
    assert [each.mutant.line for each in found] == [3, 7, 7, 7, 7, 7, 7, 7, 7, 8, 8, 9, 11]
    assert {each.mutant.id: each for each in found} == {each.mutant.id: each for each in incident.results}
    for line in lines:
        assert list(msgspec.json.decode(line)) == sorted(msgspec.json.decode(line))
    assert encode_mutants(study(empty())) == b""


def test_a_study_whose_canaries_do_not_hold_gets_no_file(tmp_path):
    bad = msgspec.structs.replace(refund(), canaries=(Canary("the fix", "cut-point", "passed", "crash"),))
    for write in (write_all, lambda given, folder: write_page(given, os.path.join(folder, "x.html"))):
        with pytest.raises(UsageError, match="a canary doesn't hold"):
            write(study(bad), str(tmp_path))
    assert os.listdir(tmp_path) == []


def test_a_method_that_was_not_tried_can_not_be_the_status(tmp_path):
    with pytest.raises(UsageError) as caught:
        write_all(whole(), str(tmp_path), method="guess")
    assert str(caught.value) == (
        "the study has no method 'guess'; name one that it tried: full-stub, mocks, cut-point, full-output, widened (usage)"
    )
    assert os.listdir(tmp_path) == []


def test_a_folder_that_can_not_be_one(tmp_path):
    file = tmp_path / "file"
    file.write_text("kept")
    with pytest.raises(UsageError) as caught:
        write_all(whole(), str(file))
    assert (
        str(caught.value)
        == f"{str(file / 'study.json')!r} can't be written (File exists); give another path (usage)"
    )
    with pytest.raises(UsageError, match="Not a directory"):
        write_all(whole(), str(file / "below"))
    with pytest.raises(UsageError, match="null"):
        write_all(whole(), f"{tmp_path}/a\0b")
    assert contents(tmp_path) == {"file": b"kept"}


def test_a_file_that_can_not_be_replaced_leaves_nothing_beside_it(tmp_path):
    (tmp_path / "report.html").mkdir()
    with pytest.raises(UsageError, match=r"report\.html' can't be written"):
        write_all(whole(), str(tmp_path))
    assert sorted(os.listdir(tmp_path)) == ["mutants.jsonl", "report.html", "report.json", "study.json"]


def test_a_page_alone_in_the_folder_that_one_stands_in(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_page(whole(), "page.html")
    assert os.listdir(tmp_path) == ["page.html"]


# --- LaTeX --------------------------------------------------------------------------------------------------------------


def macros(given):
    lines = tex_macros(given).splitlines()
    assert lines[0] == "% Made by autochron mutate"
    found = [re.fullmatch(r"\\newcommand\{\\([A-Za-z]+)\}\{(.*)\}", line).groups() for line in lines[1:]]
    assert len({name for name, _ in found}) == len(found)  # or LaTeX would stop
    return dict(found)


def test_the_macros_that_the_paper_s_sources_have():
    found = macros(whole())
    names = ("mutantsTotal", "mutantsKilledCP", "mutantsKilledFS", "mutantsSurvivedCP", "mutationScoreCP")
    assert [found[name] for name in names] == ["13", "8", "0", "5", "61.5"]


def test_all_macros():
    found = macros(study(refund(), empty(), methods=("full-stub", "cut-point", "widened")))
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
    assert found == {
        "mutationOperators": "extended", "mutationIncidents": "2",
        "mutantsGenerated": "19", "mutantsSameBytecode": "5", "mutantsDuplicates": "1", "mutantsTotal": "13",
        "mutantsEquivalent": "1", "mutantsUnsafe": "2", "mutantsEscaped": "1",
        "mutationSample": "2", "mutationSampleAgrees": "2",
        "mutantsKilledFS": "0", "mutantsSurvivedFS": "13", "mutationScoreFS": "0.0",
        "mutationScoreLowFS": "0.0", "mutationScoreHighFS": "22.8", "mutationScoreRealFS": "0.0",
        "mutantsKilledCP": "8", "mutantsSurvivedCP": "5", "mutationScoreCP": "61.5",
        "mutationScoreLowCP": "35.5", "mutationScoreHighCP": "82.3", "mutationScoreRealCP": "66.7",
        "mutantsKilledWD": "11", "mutantsSurvivedWD": "2", "mutationScoreWD": "84.6",
        "mutationScoreLowWD": "57.8", "mutationScoreHighWD": "95.7", "mutationScoreRealWD": "91.7",
        **{f"mutantsKilledFSBy{kind}": "0" for kind in kinds},
        **{f"mutantsKilledCPBy{kind}": count for kind, count in (eight | {"Output": "0"}).items()},
        **{f"mutantsKilledWDBy{kind}": count for kind, count in (eight | {"Output": "3"}).items()},
        "survivorsEscape": "1", "survivorsOutput": "1", "survivorsOtherInput": "1", "survivorsSame": "2",
        "mutantsTotalOfRefund": "13", "mutantsKilledFSOfRefund": "0", "mutantsKilledCPOfRefund": "8",
        "mutantsKilledWDOfRefund": "11", "mutantsTotalOfStaleQuoteTwo": "0", "mutantsKilledFSOfStaleQuoteTwo": "0",
        "mutantsKilledCPOfStaleQuoteTwo": "0", "mutantsKilledWDOfStaleQuoteTwo": "0",
    }  # fmt: skip


def test_macros_of_nothing_are_dashes_and_a_method_of_ones_own_has_its_name():
    found = macros(study(empty(), methods=("by-hand",)))
    assert (found["mutantsKilledByHand"], found["mutationScoreByHand"]) == ("0", "--")
    assert "mutantsEscaped" not in found


def test_names_become_letters_and_no_two_alike():
    assert distinct_words(["double_charge", "a-b", "a_b", "ü", "quote2"]) == [
        "DoubleCharge",
        "AB",
        "ABX",
        "X",
        "QuoteTwo",
    ]


def test_an_incident_s_name_is_no_macro_of_another_kind():
    given = study(*(msgspec.structs.replace(empty(), name=name) for name in ("by-exit", "a-b", "a_b")))
    assert macros(given)["mutantsKilledCPByExit"] == macros(given)["mutantsKilledCPOfByExit"] == "0"


def test_what_latex_would_obey_is_escaped():
    assert escaped(r"a_b 5% & $x #1 {y} ~ ^ \z") == (
        r"a\_b 5\% \& \$x \#1 \{y\} \textasciitilde{} \textasciicircum{} \textbackslash{}z"
    )
    assert macros(study(empty(), operators="my_set"))["mutationOperators"] == r"my\_set"


def test_a_refuted_proof_is_no_equivalent_mutant():
    assert macros(study(changed(refund(), 18, proof="so")))["mutantsEquivalent"] == "1"

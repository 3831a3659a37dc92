"""A study that is cut short goes on, and shards of a study are merged. All give the same bytes as a complete study."""

import signal
import time

import pytest

from autochron.mutate import journal
from autochron.mutate.journal import Journal
from tests.cli.processes import finish
from tests.mutate.desks import GUARDED, copy_incident, mutate, start_study

pytestmark = pytest.mark.slow


def results(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def trials(folder):
    return (folder / "journal" / "refund.jsonl").read_text().count('"tried"')


@pytest.fixture(scope="module")
def complete(desk, tmp_path_factory):
    """Return the results of a study that ran without interruption."""
    folder = tmp_path_factory.mktemp("whole")
    study = mutate(folder, desk, "--out", folder)
    assert study.status == 0, study.said
    return folder


@pytest.mark.thorough
def test_the_same_study_is_the_same_bytes(desk, complete, tmp_path):
    elsewhere = copy_incident(desk, tmp_path / "elsewhere" / "refund")
    assert mutate(tmp_path, elsewhere, "--out", "out", "--jobs", "3").status == 0
    assert results(tmp_path / "out") == results(complete)


@pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name
)
def test_a_study_that_is_cut_short_goes_on(desk, complete, tmp_path, number):
    out = tmp_path / "out"
    journal = out / "journal" / "refund.jsonl"
    process = start_study(tmp_path, desk, "--out", out, "--jobs", "1")
    while process.poll() is None and (not journal.exists() or trials(out) < 9):
        time.sleep(0.002)
    process.send_signal(number)
    stopped = finish(process)
    if number == signal.SIGINT:
        assert stopped.status == 130
        assert stopped.said.splitlines()[-1].startswith("autochron: stopped after ")
        assert stopped.said.endswith(f"; they are kept in {out}, and the same command goes on from there\n")
    else:
        assert stopped.status == -number
    assert not (out / "study.json").exists()
    tried = trials(out)
    assert tried < trials(complete)
    with journal.open("a") as file:
        file.write(
            '{"type":"tried","server":"cut","reply":{"id":"ab'
        )  # a line that was cut off while it was written
    assert mutate(tmp_path, desk, "--out", out).status == 0
    assert results(out) == results(complete)
    assert trials(out) == trials(complete) + 1  # the half line is counted, too; none was tried again


def test_a_finished_study_tries_nothing_again(desk, complete, tmp_path):
    before = trials(complete)
    assert mutate(tmp_path, desk, "--out", complete).status == 0
    assert trials(complete) == before


def test_a_journal_of_other_code_of_autochron_is_not_used(tmp_path, monkeypatch):
    path = str(tmp_path / "journal" / "refund.jsonl")
    for entries in (0, 1):
        first = Journal(path, "study")
        assert (first.agreed("mutant") is not None) == bool(entries)
        first.agree("mutant", killed=True)
        first.close()
    monkeypatch.setattr(journal, "_digest_of_ours", lambda: "other")
    assert Journal(path, "study").agreed("mutant") is None


@pytest.mark.thorough
def test_a_journal_of_another_study_is_not_used(desk, complete, tmp_path):
    """A study with other operators, or of a changed guard, is another study."""
    folder, out = copy_incident(desk, tmp_path / "refund"), tmp_path / "out"
    assert mutate(tmp_path, folder, "--out", out, "--operators", "core").status == 0
    (folder / "guarded.py").write_text(GUARDED.replace("cents >", "cents >="), encoding="utf-8")
    assert mutate(tmp_path, folder, "--out", out).status == 0
    assert ">= PAID" in (out / "study.json").read_text()
    (folder / "guarded.py").write_text(GUARDED, encoding="utf-8")
    assert mutate(tmp_path, folder, "--out", out).status == 0
    assert results(out) == results(complete)


@pytest.mark.thorough
def test_a_tool_outside_the_folder_belongs_to_the_study(desk, tmp_path):
    """A change of the tool is a change of the study, though the incident's folder is unchanged."""
    folder, out = copy_incident(desk, tmp_path / "refund"), tmp_path / "out"
    (folder / "guarded.py").rename(tmp_path / "guarded.py")
    test = (folder / "test_incident.py").read_text()
    (folder / "test_incident.py").write_text(test.replace('"guarded.py:', '"../guarded.py:'))
    assert mutate(tmp_path, folder, "--out", out).status == 0
    (tmp_path / "guarded.py").write_text(GUARDED.replace("cents >", "cents >="), encoding="utf-8")
    assert mutate(tmp_path, folder, "--out", out).status == 0
    assert ">= PAID" in (out / "study.json").read_text()


# --- shards ---


@pytest.fixture(scope="module")
def shards(desk, complete, tmp_path_factory):
    folder = tmp_path_factory.mktemp("shards")
    for number in (1, 2, 3):
        shard = mutate(folder, desk, "--out", str(number), "--shard", f"{number}/3")
        assert shard.status == 0, shard.said
    shard = mutate(folder, desk, "--out", "other", "--shard", "3/3", "--operators", "core")
    assert shard.status == 0, shard.said
    return folder


@pytest.mark.thorough
def test_merged_shards_equal_the_complete_study(complete, shards):
    assert mutate(shards, "merge", "2", "3", "1", "--out", "merged").status == 0
    assert results(shards / "merged") == results(complete)


REFUSED = {
    "none": ((), "autochron mutate merge wants the folders of the shards after it"),
    "one missing": (("1", "3"), "of 3 shards 2 is missing; make it with --shard 2/3"),
    "two missing": (("3",), "of 3 shards 1, 2 are missing; make them with --shard 1/3"),
    "one double": (("1", "2", "3", "1"), "1 and 1 are both shard 1/3; leave one out"),
    "of another study": (
        ("1", "2", "other"),
        "other is of another study than 1: its incidents, its operators or its options differ; make both of the same files",
    ),
    "nothing there": (
        ("1", "2", "nowhere"),
        "nowhere/study.json can't be read (No such file or directory); give the --out folders of shards that have ended",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_shards_that_do_not_fit_are_refused(shards, case):
    folders, expected = REFUSED[case]
    merge = mutate(shards, "merge", *folders, "--out", "refused")
    assert (merge.status, merge.text) == (2, "")
    assert merge.said == f"autochron: {expected} (usage)\n"


def test_a_shard_that_is_no_study_is_refused(shards):
    (shards / "odd").mkdir(exist_ok=True)
    (shards / "odd" / "study.json").write_text("{")
    merge = mutate(shards, "merge", "1", "odd", "--out", "refused")
    assert merge.status == 2
    assert merge.said.startswith("autochron: odd/study.json is no study (")
    assert merge.said.endswith("); make the shard anew (usage)\n")

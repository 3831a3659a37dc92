"""A study that is cut short goes on, one in parts is put together, and all come to the same bytes."""

import signal
import time

import pytest

from tests.cli.processes import finish
from tests.mutate.desks import GUARDED, begun, copied, mutate

pytestmark = pytest.mark.slow


def results(folder):
    return {each.name: each.read_bytes() for each in folder.iterdir() if each.is_file()}


def trials(folder):
    return (folder / "journal" / "refund.jsonl").read_text().count('"tried"')


@pytest.fixture(scope="module")
def whole(desk, tmp_path_factory):
    """A study that nothing has disturbed."""
    folder = tmp_path_factory.mktemp("whole")
    said = mutate(folder, desk, "--out", folder)
    assert said.status == 0, said.said
    return folder


def test_the_same_study_is_the_same_bytes(desk, whole, tmp_path):
    elsewhere = copied(desk, tmp_path / "elsewhere" / "refund")
    assert mutate(tmp_path, elsewhere, "--out", "out", "--jobs", "3").status == 0
    assert results(tmp_path / "out") == results(whole)


@pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda each: each.name
)
def test_what_is_cut_short_goes_on(desk, whole, tmp_path, number):
    out = tmp_path / "out"
    journal = out / "journal" / "refund.jsonl"
    process = begun(tmp_path, desk, "--out", out, "--jobs", "1")
    while process.poll() is None and (not journal.exists() or trials(out) < 9):
        time.sleep(0.002)
    process.send_signal(number)
    said = finish(process)
    if number == signal.SIGINT:
        assert said.status == 130
        assert said.said.startswith("autochron: stopped after ")
        assert said.said.endswith(f"; they are kept in {out}, and the same command goes on from there\n")
    else:
        assert said.status == -number
    assert not (out / "study.json").exists()
    tried = trials(out)
    assert tried < trials(whole)
    with journal.open("a") as file:
        file.write('{"type":"tried","server":"cut","reply":{"id":"ab')  # a line that was cut off
    assert mutate(tmp_path, desk, "--out", out).status == 0
    assert results(out) == results(whole)
    assert trials(out) == trials(whole) + 1  # that half of one; none was tried again


def test_what_is_done_is_not_tried_again(desk, whole, tmp_path):
    before = trials(whole)
    assert mutate(tmp_path, desk, "--out", whole).status == 0
    assert trials(whole) == before


def test_a_journal_of_another_study_is_not_used(desk, whole, tmp_path):
    """Neither of other operators, nor of a guard that was changed."""
    folder, out = copied(desk, tmp_path / "refund"), tmp_path / "out"
    assert mutate(tmp_path, folder, "--out", out, "--operators", "core").status == 0
    (folder / "guarded.py").write_text(GUARDED.replace("cents >", "cents >="), encoding="utf-8")
    assert mutate(tmp_path, folder, "--out", out).status == 0
    assert ">= PAID" in (out / "study.json").read_text()
    (folder / "guarded.py").write_text(GUARDED, encoding="utf-8")
    assert mutate(tmp_path, folder, "--out", out).status == 0
    assert results(out) == results(whole)


def test_a_tool_outside_the_folder_belongs_to_the_study(desk, tmp_path):
    """Its change is one of the study, though the incident's folder is as it was."""
    folder, out = copied(desk, tmp_path / "refund"), tmp_path / "out"
    (folder / "guarded.py").rename(tmp_path / "guarded.py")
    test = (folder / "test_incident.py").read_text()
    (folder / "test_incident.py").write_text(test.replace('"guarded.py:', '"../guarded.py:'))
    assert mutate(tmp_path, folder, "--out", out).status == 0
    (tmp_path / "guarded.py").write_text(GUARDED.replace("cents >", "cents >="), encoding="utf-8")
    assert mutate(tmp_path, folder, "--out", out).status == 0
    assert ">= PAID" in (out / "study.json").read_text()


# --- shards ---


@pytest.fixture(scope="module")
def shards(desk, whole, tmp_path_factory):
    folder = tmp_path_factory.mktemp("shards")
    for number in (1, 2, 3):
        said = mutate(folder, desk, "--out", str(number), "--shard", f"{number}/3")
        assert said.status == 0, said.said
    said = mutate(folder, desk, "--out", "other", "--shard", "3/3", "--operators", "core")
    assert said.status == 0, said.said
    return folder


def test_shards_make_up_the_whole(whole, shards):
    assert mutate(shards, "merge", "2", "3", "1", "--out", "merged").status == 0
    assert results(shards / "merged") == results(whole)


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


@pytest.mark.parametrize("how", REFUSED)
def test_shards_that_do_not_fit_are_refused(shards, how):
    folders, expected = REFUSED[how]
    said = mutate(shards, "merge", *folders, "--out", "refused")
    assert (said.status, said.text) == (2, "")
    assert said.said == f"autochron: {expected} (usage)\n"


def test_a_shard_that_is_no_study_is_refused(shards):
    (shards / "odd").mkdir(exist_ok=True)
    (shards / "odd" / "study.json").write_text("{")
    said = mutate(shards, "merge", "1", "odd", "--out", "refused")
    assert said.status == 2
    assert said.said.startswith("autochron: odd/study.json is no study (")
    assert said.said.endswith("); make the shard anew (usage)\n")

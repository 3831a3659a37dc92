"""`autochron judge` measures a judge against labels."""

import json
import os
import pty
import subprocess
import sys

import pytest

from autochron.cli import main
from autochron.judging import agreement
from autochron.store.tracefile import read_trace
from tests.agents.workshop import environment as surroundings

LABELS = [
    {"subject": "Thank you!", "label": True},
    {"subject": "Thanks a lot.", "label": True},
    {"subject": "You are rude.", "label": False},
    {"subject": {"text": "How rude of you."}, "label": True},
    {"subject": "Go away.", "label": False, "rubric": "It is friendly."},
]


@pytest.fixture
def labels(tmp_path, environment):
    """Return a function that writes labels, and work in their folder."""
    environment.chdir(tmp_path)

    def write(lines=LABELS, name="labels.jsonl"):
        text = "".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines)
        (tmp_path / name).write_text(text)
        return name

    return write


@pytest.fixture
def run(capsys):
    """Return a function that runs the command in this process; the judge still has a process of its own."""

    def judge(*arguments):
        with pytest.raises(SystemExit) as exit:
            main(["judge", *arguments])
        captured = capsys.readouterr()
        return exit.value.code, captured.out, captured.err

    return judge


ARGUMENTS = ("--model", "openai:m", "--rubric", "It is polite.")


def test_a_judge_is_measured_and_then_served(model, labels, run, tmp_path):
    status, out, err = run(labels(), *ARGUMENTS, "-q")  # else progress, where that takes two seconds
    low, high = agreement.wilson(3, 5)
    assert (status, err) == (0, "")
    assert out.splitlines() == [
        "model\topenai:m",
        "labels judged\t5 (5 by a call, 0 recorded)",
        f"agreement\t0.600 (95 % interval {low:.3f} to {high:.3f})",
        "Cohen's kappa\t0.167",
        "label good\t2 passed, 1 failed",
        "label bad\t1 passed, 1 failed",
        "threshold\t0.5",
        "record\tlabels.judged.jsonl",
        "2 disagreements:",
        "  line 4: label true, score 0.1: It is rude.",
        '    {"text":"How rude of you."}',
        "  line 5: label false, score 0.9: It is polite.",
        "    Go away.",
    ]
    assert model.calls == 5
    rubrics = {
        json.loads(envelope.input)["rubric"] for envelope in read_trace("labels.judged.jsonl").envelopes
    }
    assert rubrics == {"It is polite.", "It is friendly."}
    replay_status, served, _ = run(labels(), *ARGUMENTS, "--mode", "replay")
    assert (replay_status, served) == (0, out.replace("5 by a call, 0 recorded", "0 by a call, 5 recorded"))
    assert model.calls == 5

    status, out, _ = run(labels(), *ARGUMENTS, "--json", "--threshold", "0.95")
    report = json.loads(out)
    assert (status, report["n"], report["called"], report["agreement"]) == (0, 5, 0, 0.4)
    assert report["confusion"] == {"good_passed": 0, "good_failed": 3, "bad_passed": 0, "bad_failed": 2}
    assert report["kappa"] == 0
    assert [disagreement["line"] for disagreement in report["disagreements"]] == [1, 2, 4]
    assert report["disagreements"][0] == {
        "line": 1, "subject": "Thank you!", "label": True, "score": 0.9, "passed": False, "reason": "It is polite.",
    }  # fmt: skip
    assert model.calls == 5


@pytest.mark.slow
def test_numeric_labels_are_measured_by_distance_and_rank(model, labels, run):
    lines = [
        {"subject": "Thanks.", "label": 1},
        {"subject": "Hello.", "label": 0.8},
        {"subject": "rude", "label": 0.3},
        {"subject": "rude too", "label": False},
    ]
    status, out, _ = run(labels(lines), *ARGUMENTS, "--record", "kept/here.jsonl")
    assert status == 0
    assert "agreement\t1.000" in out
    assert "Cohen's kappa\t1.000" in out
    assert "mean absolute error\t0.133 (of 3 numbers)" in out
    assert f"Spearman's rho\t{3**0.5 / 2:.3f} (of 3 numbers)" in out
    assert "record\tkept/here.jsonl" in out
    assert len(read_trace("kept/here.jsonl").envelopes) == 4


@pytest.mark.slow
def test_labels_without_a_verdict_are_counted_separately(model, labels, run):
    lines = [{"subject": "Thanks.", "label": True}, {"subject": "mumble", "label": True}]
    status, out, _ = run(labels(lines), *ARGUMENTS)
    assert status == 1
    assert "labels judged\t1 (1 by a call, 0 recorded)\nnot judged\t1\n" in out
    assert "line 2: not judged: openai:m gave no verdict, also when asked again" in out


@pytest.mark.slow
def test_only_the_first_ten_disagreements_are_shown(model, labels, run):
    status, out, _ = run(labels([{"subject": f"rude {n}", "label": True} for n in range(13)]), *ARGUMENTS)
    assert (status, out.count("\n  line ")) == (0, 10)
    assert "13 disagreements:" in out
    assert "Cohen's kappa\t0.000" in out
    assert "  … and 3 more; --json lists all" in out
    _, report, _ = run(
        labels(name="labels.jsonl", lines=[{"subject": f"rude {n}", "label": True} for n in range(13)]),
        *ARGUMENTS,
        "--json",
    )
    assert len(json.loads(report)["disagreements"]) == 13


def test_missing_judgements_in_mode_replay_are_refused_with_a_remedy(labels, run, environment):
    environment.setenv("AUTOCHRON_JUDGE", "replay")
    status, out, err = run(labels(), *ARGUMENTS)
    assert (status, out) == (2, "")
    assert err.startswith("autochron: labels.judged.jsonl has no judgement of this subject by openai:m;")
    assert err.endswith("(not-judged)\n")


GOOD_LINE = '{"subject": "x", "label": true}'


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{'subject': 1}", "labels.jsonl:2: this is no JSON ("),
        ("[1]", 'labels.jsonl:2: this is no object; write {"subject": …, "label": true}'),
        ('{"label": true}', "labels.jsonl:2: there is no subject; add one"),
        ('{"subject": "x"}', "labels.jsonl:2: there is no label; add one"),
        ('{"subject": "x", "labl": true}', "labels.jsonl:2: there is no field 'labl'; did you mean label?"),
        ('{"subject": "x", "label": "yes"}', 'labels.jsonl:2: the label is "yes"; give true, false or a number from 0 to 1'),
        ('{"subject": "x", "label": 2}', "labels.jsonl:2: the label is 2; give true, false"),
        ('{"subject": "x", "label": null}', "labels.jsonl:2: the label is null; give true, false"),
        ('{"subject": "x", "label": true, "rubric": ""}', "labels.jsonl:2: the rubric is no text; say what"),
        (b'{"subject": "\xff", "label": true}', "labels.jsonl:2: this is no JSON ("),
    ],
)  # fmt: skip
def test_a_mistake_in_the_labels_is_reported_with_file_line_and_remedy(line, message, labels, run, tmp_path):
    file = labels([GOOD_LINE])
    (tmp_path / file).write_bytes(
        (GOOD_LINE + "\n").encode() + (line if isinstance(line, bytes) else line.encode())
    )
    status, out, err = run(file, *ARGUMENTS)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"autochron: {message}")
    assert err.endswith("(bad-labels)\n")
    assert os.listdir(tmp_path) == [file]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "autochron judge wants a file of labels"),
        (("a", "b"), "takes one file of labels, not 2"),
        (("labels.jsonl",), "wants --model, such as --model openai:gpt-5-mini (usage)"),
        (("labels.jsonl", "--model", "gpt", "--rubric", "r"), "name one as openai:NAME"),
        (("labels.jsonl", "--model", "openai:m"), "labels.jsonl:1: there is no rubric; add one to the line, or give"),
        (("labels.jsonl", *ARGUMENTS, "--threshold", "2"), "a judge's threshold is a number from 0 to 1, not 2.0 (usage)"),
        (("labels.jsonl", *ARGUMENTS, "--threshold", "half"), "--threshold takes a number from 0 to 1, not half (usage)"),
        (("labels.jsonl", *ARGUMENTS, "--mode", "relpay"), "--mode is 'relpay'; it takes replay, record or rewrite; did you"),
        (("labels.jsonl", "--model", "openai:m", "--rubric", "@gone.txt"), "the rubric can't be read from gone.txt"),
        (("labels.jsonl", *ARGUMENTS, "--treshold", "1"), "has no option --treshold; did you mean --threshold?"),
        (("gone.jsonl", *ARGUMENTS), "gone.jsonl can't be read (No such file or directory); give a file of labels"),
        (("empty.jsonl", *ARGUMENTS), 'empty.jsonl has no labels; write lines such as {"subject": "…", "label": true}'),
    ],
)  # fmt: skip
def test_a_mistake_in_the_command_is_reported_with_the_remedy(arguments, message, labels, run, tmp_path):
    labels([GOOD_LINE])
    labels(["", "  "], name="empty.jsonl")
    status, out, err = run(*arguments)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert message in err
    assert sorted(os.listdir(tmp_path)) == ["empty.jsonl", "labels.jsonl"]


def test_a_rubric_can_be_read_from_a_file(labels, run, tmp_path, environment):
    (tmp_path / "rubric.txt").write_text("It is polite.\nVery.\n")
    environment.setenv("AUTOCHRON_JUDGE", "replay")
    status, _, err = run(labels(), "--model", "openai:m", "--rubric", "@rubric.txt")
    assert (status, "(not-judged)" in err) == (2, True)


def test_help_lists_the_options(run, capsys):
    status, out, _ = run("--help")
    assert status == 0
    for option in ("--model", "--base-url", "--rubric", "--threshold", "--record", "--mode", "--json"):
        assert f"  {option} " in out or f"  {option}\n" in out
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "measure how far a model's judgement agrees with labels" in capsys.readouterr().out


@pytest.mark.slow
def test_a_terminal_shows_a_table_and_progress_that_is_erased(model, labels, tmp_path):
    labels()
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "autochron", "judge", "labels.jsonl", *ARGUMENTS],
        cwd=tmp_path,
        env=surroundings(model, TERM="xterm", COLUMNS="120"),
        stdin=follower,
        stdout=follower,
        stderr=follower,
    )
    os.close(follower)
    seen = b""
    while True:
        try:
            piece = os.read(leader, 4096)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        seen += piece
    os.close(leader)
    assert process.wait(60) == 0, seen
    assert b"judging" in seen
    assert b" of 5 labels" in seen
    last = seen.rpartition(b"\x1b[2K")[2].decode()
    assert "judging" not in last
    assert "measure" in last
    assert "Cohen's kappa" in last

"""`autochron traces prune` drops traces by age and by size, and reports them."""

import json
import os
import random
import string
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from autochron.model import Footer, TraceSummary
from autochron.store import open_store, pruning
from tests.cli.processes import autochron
from tests.store import samples


def created(days_ago):
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(time.time() - days_ago * 86_400))


@pytest.fixture
def home(tmp_path):
    """Return a folder with four traces of one size that began 40, 20, 10 and 0 days ago."""
    (tmp_path / ".autochron").mkdir()
    store = open_store(str(tmp_path / ".autochron" / "traces.db"))
    text = "".join(
        random.Random(1).choices(string.printable[:94].replace("\\", ""), k=10_000)
    )  # it does not compress
    for number, days in enumerate((40, 20, 10, 0), 1):
        sink = store.begin(structs.replace(samples.header(number, f"t{days}"), created=created(days)))
        sink.put(samples.small(1, text))
        sink.end(Footer(status=0))
        sink.close()
    return tmp_path


def names(home):
    lines = autochron(home, "traces", "list", "--json").text.splitlines()
    return [json.loads(line)["header"]["name"] for line in lines]


@pytest.mark.parametrize(
    ("options", "left"),
    [
        (("--max-age", "30d"), ["t20", "t10", "t0"]),
        (("--max-age", "2w"), ["t10", "t0"]),
        (("--max-age", "1h"), ["t0"]),
        (("--max-age", "9000000d"), ["t40", "t20", "t10", "t0"]),
        (("--max-age", "0s"), []),
        (("--max-size", "1GB"), ["t40", "t20", "t10", "t0"]),
        (("--max-size", "25kb"), ["t10", "t0"]),
        (("--max-size", "0B"), []),
        (("--max-age", "30d", "--max-size", "12KB"), ["t0"]),
    ],
    ids=" ".join,
)
def test_prune_drops_old_traces_and_then_the_oldest_until_the_rest_fits(options, left, home):
    dry = autochron(home, "traces", "prune", *options, "--dry-run")
    assert names(home) == ["t40", "t20", "t10", "t0"]
    result = autochron(home, "traces", "prune", *options)
    assert (result.status, result.said) == (0, "")
    assert names(home) == left
    dropped_count = 4 - len(left)
    beginning = f"{dropped_count} trace{'' if dropped_count == 1 else 's'} ("
    assert result.text.startswith(beginning)
    assert dry.text.splitlines()[-1] == result.text.strip().replace(" dropped", " would be dropped")


def test_prune_reports_dropped_traces_as_json(home):
    result = autochron(home, "traces", "prune", "--max-age", "15d", "--json")
    assert [json.loads(line)["header"]["name"] for line in result.text.splitlines()] == ["t40", "t20"]


def test_prune_frees_disk_space(home):
    size = os.path.getsize(home / ".autochron" / "traces.db")
    assert autochron(home, "traces", "prune", "--max-age", "1d").status == 0
    assert os.path.getsize(home / ".autochron" / "traces.db") < size - 20_000
    assert autochron(home, "traces", "show", "last").status == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "traces prune wants --max-age, --max-size or both; with --dry-run it only tells (usage)"),
        (
            ("--max-age", "30"),
            "traces prune: --max-age wants an age such as 12h, 30d or 8w, and got '30' (usage)",
        ),
        (
            ("--max-age", "d"),
            "traces prune: --max-age wants an age such as 12h, 30d or 8w, and got 'd' (usage)",
        ),
        (
            ("--max-age", "nand"),
            "traces prune: --max-age wants an age such as 12h, 30d or 8w, and got 'nand' (usage)",
        ),
        (
            ("--max-size", "-1MB"),
            "traces prune: --max-size wants a size such as 500MB or 2GB, and got '-1MB' (usage)",
        ),
        (
            ("--max-size", "2TB"),
            "traces prune: --max-size wants a size such as 500MB or 2GB, and got '2TB' (usage)",
        ),
    ],
)
def test_wrong_options_of_prune_are_refused_and_nothing_is_dropped(options, message, home):
    result = autochron(home, "traces", "prune", *options)
    assert (result.status, result.text, result.said) == (2, "", f"autochron: autochron {message}\n")
    assert len(names(home)) == 4


def test_prune_refuses_a_trace_file(home):
    assert autochron(home, "traces", "export", "last", "t.jsonl").status == 0
    result = autochron(home, "traces", "prune", "--max-age", "0s", "--store", "t.jsonl")
    assert result.status == 2
    assert result.said.endswith("from which nothing can be dropped; remove the file (bad-store)\n")
    assert (
        autochron(home, "replay", "t.jsonl").status != 0
    )  # there is no program to replay, but the file can still be read
    assert (home / "t.jsonl").exists()


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 100))), st.integers(0, 9), st.integers(0, 400))
def test_traces_left_by_prune_are_young_enough_and_fit(traces, day, size_limit):
    traces = sorted(traces)
    summaries = [
        TraceSummary(
            structs.replace(samples.header(number), created=f"2026-01-0{created_day}"), 1, 0, True, size
        )
        for number, (created_day, size) in enumerate(traces)
    ]
    dropped = pruning.to_drop(summaries, begun_before=f"2026-01-0{day}", room=size_limit)
    left = summaries[len(dropped) :]
    assert dropped == summaries[: len(dropped)]
    assert all(summary.header.created >= f"2026-01-0{day}" for summary in left)
    assert sum(summary.size for summary in left) <= size_limit
    if dropped:  # no trace was dropped without need
        with_one_more = [dropped[-1], *left]
        assert (
            dropped[-1].header.created < f"2026-01-0{day}"
            or sum(summary.size for summary in with_one_more) > size_limit
        )

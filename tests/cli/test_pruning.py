"""`autochron traces prune`: by age, by size, and what it says."""

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
    """A folder with traces that began 40, 20, 10 and 0 days ago, of one size."""
    (tmp_path / ".autochron").mkdir()
    store = open_store(str(tmp_path / ".autochron" / "traces.db"))
    text = "".join(
        random.Random(1).choices(string.printable[:94].replace("\\", ""), k=10_000)
    )  # nothing to compress
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
def test_drops_what_is_older_and_the_oldest_until_the_rest_fits(options, left, home):
    dry = autochron(home, "traces", "prune", *options, "--dry-run")
    assert names(home) == ["t40", "t20", "t10", "t0"]
    result = autochron(home, "traces", "prune", *options)
    assert (result.status, result.said) == (0, "")
    assert names(home) == left
    gone = 4 - len(left)
    dropped = f"{gone} trace{'' if gone == 1 else 's'} ("
    assert result.text.startswith(dropped)
    assert dry.text.splitlines()[-1] == result.text.strip().replace(" dropped", " would be dropped")


def test_tells_what_it_drops_as_json(home):
    result = autochron(home, "traces", "prune", "--max-age", "15d", "--json")
    assert [json.loads(line)["header"]["name"] for line in result.text.splitlines()] == ["t40", "t20"]


def test_gives_the_room_back(home):
    size = os.path.getsize(home / ".autochron" / "traces.db")
    assert autochron(home, "traces", "prune", "--max-age", "1d").status == 0
    assert os.path.getsize(home / ".autochron" / "traces.db") < size - 20_000
    assert autochron(home, "traces", "show", "last").status == 0


@pytest.mark.parametrize(
    ("options", "said"),
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
def test_bad_input_says_what_is_wanted_and_drops_nothing(options, said, home):
    result = autochron(home, "traces", "prune", *options)
    assert (result.status, result.text, result.said) == (2, "", f"autochron: autochron {said}\n")
    assert len(names(home)) == 4


def test_a_trace_file_is_not_emptied(home):
    assert autochron(home, "traces", "export", "last", "t.jsonl").status == 0
    result = autochron(home, "traces", "prune", "--max-age", "0s", "--store", "t.jsonl")
    assert result.status == 2
    assert result.said.endswith("from which nothing can be dropped; remove the file (bad-store)\n")
    assert autochron(home, "replay", "t.jsonl").status != 0  # there is no program; it is read all the same
    assert (home / "t.jsonl").exists()


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 100))), st.integers(0, 9), st.integers(0, 400))
def test_what_is_left_is_young_enough_and_fits(traces, day, room):
    traces = sorted(traces)
    summaries = [
        TraceSummary(structs.replace(samples.header(number), created=f"2026-01-0{at}"), 1, 0, True, size)
        for number, (at, size) in enumerate(traces)
    ]
    dropped = pruning.to_drop(summaries, begun_before=f"2026-01-0{day}", room=room)
    left = summaries[len(dropped) :]
    assert dropped == summaries[: len(dropped)]
    assert all(each.header.created >= f"2026-01-0{day}" for each in left)
    assert sum(each.size for each in left) <= room
    if dropped:  # not one too many
        kept = [dropped[-1], *left]
        assert dropped[-1].header.created < f"2026-01-0{day}" or sum(each.size for each in kept) > room

"""The tree in failure reports shows live, differing and missing crossings in few lines."""

import io

import msgspec
import pytest

from autochron.diff.traces import differ
from autochron.model import (
    Command,
    Divergence,
    Envelope,
    Exchange,
    Header,
    Raised,
    Replayed,
    Returned,
    Streamed,
    Trace,
)
from autochron.report.phrases import brief, cells, cut, duration_text, words
from autochron.report.text import Page
from autochron.report.tree import draw_comparison, draw_replay, draw_trace

encode = msgspec.json.Encoder(order="sorted").encode


def crossing(seq, name, nth=1, *, parent=None, lane="0", given=1, got=2, **more):
    fields = {
        "seq": seq, "name": name, "nth": nth, "kind": "tool", "lane": lane, "parent": parent, "site": f"a.py:{name}",
        "input": encode({"n": given}), "outcome": Returned(encode(got)), "duration": 2_000_000,
    }  # fmt: skip
    return Envelope(**fields | more)


def replayed(envelope, mode="served", *, recorded=True):
    return Replayed(mode=mode, envelope=envelope, recorded=envelope if recorded else None)


def divergence(kind, address, **more):
    return Divergence(kind=kind, address=address, **{"message": f"{address} {kind}", **more})


def test_a_replay_without_differences_has_no_marks():
    lines = draw_replay([replayed(crossing(1, "a")), replayed(crossing(2, "b", parent=1))], []).lines()
    assert lines == ["└─ a[1] tool  n: 1 → 2  2.0 ms", "   └─ b[1] tool  n: 1 → 2  2.0 ms"]


def test_live_opened_extra_and_missing_crossings_are_marked_in_place():
    recorded = [
        crossing(1, "desk"),
        crossing(2, "refund", parent=1),
        crossing(3, "mail", parent=1),
        crossing(4, "audit", parent=3),
        crossing(5, "close"),
    ]
    crossings = [
        Replayed(mode="opened", envelope=crossing(1, "desk"), recorded=recorded[0]),
        Replayed(mode="live", envelope=crossing(2, "refund", parent=1, got=3), recorded=recorded[1]),
        Replayed(mode="live", envelope=crossing(3, "lookup", parent=2), recorded=None),
        Replayed(mode="served", envelope=crossing(4, "letter", parent=1), recorded=None),
        Replayed(mode="served", envelope=crossing(5, "close"), recorded=recorded[4]),
    ]
    divergences = [
        divergence("outcome", "refund[1]", path="cents", recorded="2", replayed="3", severity="consequence"),
        divergence("missing", "mail[1]"),
        divergence("missing", "audit[1]", severity="consequence"),
        divergence("extra", "letter[1]", nearest="mail[1]"),
        divergence("input", "close[1]", path="(value)", recorded="1", replayed="9", severity="warning"),
        divergence("state", "refund[1]", message="record again", severity="notice"),
        divergence("output", "standard output", message="line 2 of the output was 'a', now it is 'b'"),
    ]
    assert draw_replay(crossings, divergences, recorded).lines() == [
        "├─ ○ desk[1] tool  n: 1 → 2  2.0 ms  opened",
        "│  ├─ ● refund[1] tool  n: 1 → 3  2.0 ms  live",
        "│  │  │    outcome cents: 2 → 3",
        "│  │  │    state: record again",
        "│  │  └─ ● lookup[1] tool  n: 1 → 2  2.0 ms  live, was not recorded",
        "│  ├─ − mail[1] tool  n: 1 → 2  did not happen",
        "│  │  └─ − audit[1] tool  n: 1 → 2  did not happen",
        "│  └─ + letter[1] tool  n: 1 → 2  2.0 ms  was not recorded; nearest mail[1]",
        "└─ ≠ close[1] tool  n: 1 → 2  2.0 ms",
        "        input: 1 → 9",
        "line 2 of the output was 'a', now it is 'b'",
    ]


def test_divergences_without_a_place_are_listed_last_by_severity():
    divergences = [
        divergence("missing", "b[1]", message="b[1] (a.py:b) was recorded and did not happen"),
        divergence("child", "0/x.1", severity="notice"),
        divergence("network", "a.py:3", severity="warning"),
        divergence("extra", "c[1]"),
    ]
    assert draw_replay([replayed(crossing(1, "a"))], divergences).lines()[1:] == [
        "b[1] (a.py:b) was recorded and did not happen",
        "c[1] extra",
        "a.py:3 network",
        "0/x.1 child",
    ]


def long_replay(live=()):
    """Return the crossings of a replay of 300 steps of three calls each, of which some are live."""
    crossings, seq = [], 0
    for step in range(1, 301):
        seq += 1
        parent_seq = seq
        crossings.append(replayed(crossing(seq, "step", step)))
        for name in ("ask", "act"):
            seq += 1
            mode = "live" if f"{name}[{step}]" in live else "served"
            crossings.append(replayed(crossing(seq, name, step, parent=parent_seq), mode))
    return crossings


@pytest.mark.parametrize("limit", [5, 12, 40, 100])
def test_a_long_replay_is_shortened_to_its_important_lines(limit):
    wrong = divergence("input", "act[150]", path="n", recorded="1", replayed="2")
    lines = draw_replay(long_replay(live=["ask[77]"]), [wrong]).lines(limit)
    assert len(lines) <= limit
    assert [line for line in lines if "act[150]" in line]
    assert "input n: 1 → 2" in "\n".join(lines)
    assert [line for line in lines if "step[150]" in line]  # its parent
    assert [line for line in lines if "more" in line]
    assert limit < 12 or [line for line in lines if "● ask[77]" in line]


def test_if_everything_differs_the_first_differences_and_the_number_of_the_others_are_shown():
    wrong = [
        divergence("input", f"act[{step}]", path="n", recorded="1", replayed="2") for step in range(1, 301)
    ]
    lines = draw_replay(long_replay(), wrong).lines(20)
    assert len(lines) == 20
    assert "step[1]" in lines[0]
    assert [line for line in lines if line.startswith("… ") and line.endswith(" more lines")]


def test_a_missing_crossing_is_drawn_inside_its_reordered_parent():
    recorded = [crossing(1, "b"), crossing(2, "c", lane="0/f.1"), crossing(3, "inner", parent=1)]
    crossings = [
        Replayed(mode="served", envelope=crossing(1, "c"), recorded=recorded[1]),
        Replayed(mode="opened", envelope=crossing(2, "b"), recorded=recorded[0]),
        Replayed(mode="served", envelope=crossing(3, "d"), recorded=None),
    ]
    lines = draw_replay(crossings, [divergence("missing", "inner[1]")], recorded).lines()
    assert [line.partition(" tool")[0] for line in lines] == [
        "├─ c[1]",
        "├─ ○ b[1]",
        "│  └─ − inner[1]",
        "└─ + d[1]",
    ]


def test_an_extra_crossing_is_drawn_inside_its_reordered_parent():
    def trace(*envelopes):
        header = Header(id="01", created="", command=Command("script", "a.py"))
        return Trace(header, envelopes, None)

    first = trace(crossing(1, "b"), crossing(2, "c"), crossing(3, "a"))
    second = trace(crossing(1, "a"), crossing(2, "new", parent=1), crossing(3, "b"), crossing(4, "c"))
    lines = draw_comparison(differ(first, second)).lines()
    assert [line.partition(" tool")[0] for line in lines] == [
        "├─ … 2 the same: b, c",
        "└─ ≠ a[1]",
        "   │    reordered: after c[1] → the first",
        "   └─ + new[1]",
    ]


def test_many_crossings_of_different_names_are_summarised():
    lines = draw_trace([crossing(seq, f"t{seq}") for seq in range(1, 101)]).lines(None)
    assert len(lines) == 41
    assert lines[20] == "├─ … 60 more: t21, t22, t23, t24, t25, t26, and 54 names more"


def test_a_trace_can_be_drawn_from_an_iterator_of_envelopes():
    envelopes = [crossing(1, "a"), crossing(2, "b", parent=1), crossing(3, "c", parent=99)]
    assert draw_trace(iter(envelopes)).lines() == [
        "├─ a[1] tool  n: 1 → 2  2.0 ms",
        "│  └─ b[1] tool  n: 1 → 2  2.0 ms",
        "└─ c[1] tool  n: 1 → 2  2.0 ms",  # its parent was lost
    ]


def test_only_crossings_that_are_shown_are_loaded():
    envelopes = {seq: crossing(seq, "a", seq) for seq in range(1, 5001)}
    loaded = []

    def get(seq):
        loaded.append(seq)
        return envelopes[seq]

    assert len(draw_trace(envelopes.values(), get).lines()) == 7
    assert loaded == [1, 2, 3, 4998, 4999, 5000]


def test_overlapping_lanes_are_marked_and_consecutive_ones_are_not():
    def timed(seq, lane, started):
        return crossing(seq, "t", seq, lane=lane, started=started, duration=10)

    lines = draw_trace(
        [timed(1, "0/f.1", 0), timed(2, "0/f.2", 5), timed(3, "0/f.3", 50), timed(4, "0/~g.1", 80)]
    ).lines()
    assert [line.partition("  t[")[0] for line in lines] == [
        "├─ ∥ f.1",
        "├─ ∥ f.2",
        "├─ f.3",
        "└─ daemon g.1",
    ]


def test_a_long_name_of_a_lane_leaves_room_for_its_crossing():
    lane = "0/" + "/".join(f"{step}_of_a_framework.1" for step in ("batch", "run", "call"))
    crossings = [crossing(1, "a"), crossing(2, "refund", lane=lane), crossing(3, "mail", lane=f"{lane}/x.1")]
    crossings += [
        crossing(4, "log", lane=f"{lane}/{'y' * 99}.1"),
        crossing(5, "b", lane=f"{lane}/{'y' * 99}.1"),
    ]
    drawn = draw_trace(crossings).lines()
    assert [line[:61] for line in drawn[1:3]] == [
        "└─ batch_of_a_framework.1/run_of_a_framework.1/call_of_a_fram",
        "   ├─ refund[1] tool  n: 1 → 2  2.0 ms",
    ]
    (alone,) = draw_trace(crossings[:2]).lines()[1:]
    assert alone == "└─ …ework.1/call_of_a_framework.1  refund[1] tool  n: 1 → 2  2.0 ms"
    (nested,) = [line for line in drawn if "crossings" in line and "yyy" in line]
    assert (cells(nested), nested.endswith("yyyy.1  2 crossings")) == (100, True)


def test_the_name_of_a_lane_is_cut_before_the_input_and_outcome_of_its_crossing():
    lane = "0/Graph.run.1/ToolCallProcessor._call_tool.1"
    got = "the refund of 120 dollars was booked, and a letter to the customer is on its way"
    drawing = draw_trace([crossing(1, "a"), crossing(2, "refund", lane=lane, got=got)])
    line = drawing.lines()[1]
    assert line.startswith('└─ …_call_tool.1  refund[1] tool  n: 1 → "the refund of 120 dollars was booked, ')
    assert cells(line) == 100
    wide = drawing.lines(width=200)[1]
    assert wide.startswith("└─ Graph.run.1/ToolCallProcessor._call_tool.1  refund[1] tool  n: 1 → ")


def test_lanes_are_nested_as_they_were_started():
    lines = draw_trace(
        [
            crossing(1, "a", lane="0/main.1"),
            crossing(2, "b", lane="0/main.1/w.1"),
            crossing(3, "b", 2, lane="0/main.1/w.1/x.1"),
            crossing(4, "c", lane="0/main.1"),
        ]
    ).lines()
    assert [line.partition(" tool")[0] for line in lines] == [
        "├─ a[1]",
        "├─ w.1  2 crossings",
        "│  ├─ b[1]",
        "│  └─ x.1  b[2]",
        "└─ c[1]",
    ]


def test_a_thousand_levels_are_drawn():
    lines = draw_trace([crossing(seq, "r", seq, parent=seq - 1 or None) for seq in range(1, 3001)]).lines(
        None
    )
    assert len(lines) == 3000
    assert max(map(len, lines)) <= 100


def test_a_trace_without_crossings_is_drawn_as_no_lines():
    assert draw_trace([]).lines() == []
    assert draw_replay([], []).lines() == []


def test_a_tree_in_a_file_has_no_colours():
    stream = io.StringIO()
    draw_replay([replayed(crossing(1, "a"), "live")], []).write(Page(stream))
    assert stream.getvalue() == "└─ ● a[1] tool  n: 1 → 2  2.0 ms  live\n"


# --- a single line ---


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"a": [1, None, True], "b": {"c": "x"}}, '{a: [1, None, True], b: {c: "x"}}'),
        ({"$tuple": [1, "a"]}, '(1, "a")'),
        ({"$type": "@shop.py:Quote", "price": 3}, "Quote(price: 3)"),
        ({"$error": "builtins:ValueError", "args": ["no"]}, "ValueError: no"),
        ({"$error": "shop:Late", "args": []}, "Late"),
        ({"$opaque": "_thread:lock", "reason": "x"}, "<lock>"),
        ({"$decimal": "1.50"}, "1.50"),
        ({"$dict": [[1, 2]]}, "{[1, 2]}"),
        ({"$enum": "shop:Colour", "name": "RED"}, "shop:Colour"),
        ({"peers": [{"$cycle": 3}, 3]}, "{peers: [<cycle 3>, 3]}"),
        ([{"$cycle": True}], "[<cycle>]"),
    ],
)
def test_values_are_written_without_type_tags(value, expected):
    assert brief(value) == expected


def test_a_huge_value_is_shortened():
    assert len(brief([{"a": "x" * 1000}] * 1000)) < 1000
    deep = []
    for _ in range(500):
        deep = [deep]
    assert brief(deep).startswith("[[[[")


def model(**more):
    return crossing(1, "m", kind="model", **more)


def words_of_model_call(body, **meta):
    """Return the text for a model call with an exchange whose response has this stored body."""
    exchange = Exchange(method="POST", url="http://x/", request=b"null", status=200, body=encode(body))
    return words(model(exchanges=(exchange,), reenters=True, meta=encode({"model": "m-1", **meta})), 60)


@pytest.mark.parametrize(
    "body",
    [
        {"json": {"choices": [{"message": {"role": "assistant", "content": "Good day."}}]}},
        {"json": {"content": [{"type": "text", "text": "Good day."}]}},
        {"json": {"candidates": [{"content": {"parts": [{"text": "Good "}, {"text": "day."}]}}]}},
        {
            "json": {
                "output": [{"type": "message", "content": [{"type": "output_text", "text": "Good day."}]}]
            }
        },
        {"events": [{"data": {"choices": [{"delta": {"content": part}}]}} for part in ("Go", "od ", "day.")]},
        {
            "events": [{"data": {"delta": {"text": part}}} for part in ("Good", " day.")]
            + [{"data": {"text": "Good day."}}]
        },
        {"lines": [{"message": {"content": part}} for part in ("Good ", "day.")]},
    ],
)
def test_the_text_of_an_answer_is_found_in_the_format_of_each_provider(body):
    assert words_of_model_call(body) == 'm-1 → "Good day."'


def test_requested_tools_of_a_model_call_are_named():
    assert (
        words_of_model_call({"json": {"content": "x"}}, tools=["refund", "mail", "refund"])
        == "m-1 → refund ×2, mail"
    )
    assert words_of_model_call({"json": {"data": [0.5]}}) == "m-1 → status 200"


def test_a_model_call_without_exchanges_is_described_by_its_outcome():
    assert words(model(got={"content": "Good day."}), 60) == 'n: 1 → "Good day."'
    streamed = Streamed((encode({"text": "Good "}), encode({"text": "day."})), Returned())
    assert words(model(outcome=streamed), 60) == 'n: 1 → "Good day."'
    assert words(model(got=[1, 2]), 60) == "n: 1 → [1, 2]"
    assert words(model(outcome=Raised(encode({"$error": "x:Y", "args": []}))), 60) == "n: 1"


@pytest.mark.parametrize("room", [0, 5, 8, 13, 40])
def test_words_fit_into_their_room(room):
    assert cells(words(crossing(1, "t", given="漢字" * 50, got="x" * 90), room)) <= room


def test_texts_are_cut_by_width_and_durations_are_rounded():
    assert (cut("abcdef", 4), cut("漢字漢字", 5), cut("abc", 3), cut("abc", 0)) == (
        "abc…",
        "漢字…",
        "abc",
        "",
    )
    assert [duration_text(n) for n in (900, 35_000, 1_200_000, 85_000_000, 3_400_000_000, 4e12)] == [
        "0 µs", "35 µs", "1.2 ms", "85 ms", "3.4 s", "4,000 s",
    ]  # fmt: skip

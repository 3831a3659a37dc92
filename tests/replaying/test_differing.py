"""The comparison of two traces: equal traces have no difference, and one change is reported as one difference."""

import json

import msgspec
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from autochron.diff.align import common
from autochron.diff.traces import differ
from autochron.model import (
    Closed,
    Command,
    Envelope,
    Exchange,
    Footer,
    Header,
    Raised,
    Returned,
    Streamed,
    Trace,
)
from autochron.report.phrases import cells
from autochron.report.tree import draw_comparison, draw_trace
from tests.store import samples

encode = msgspec.json.Encoder(order="sorted").encode
HEADER = Header(id="01" + "A" * 24, created="2025-01-01T00:00:00Z", command=Command("script", "agent.py"))


class Node:
    """One crossing of an invented run. It is in its parent's lane, or in a lane that was started there."""

    def __init__(self, name, argument, result, step, children):
        self.name, self.argument, self.result, self.step, self.children = (
            name,
            argument,
            result,
            step,
            children,
        )

    def __repr__(self):
        return f"Node{(self.name, self.argument, self.result, self.step, self.children)}"


def trace(nodes, footer=Footer(status=0), **header):
    """Return a trace of invented crossings."""
    envelopes, counts = [], {}

    def add(node, parent, lane):
        lane = f"{lane}/{node.step}" if node.step else lane
        counts[node.name] = counts.get(node.name, 0) + 1
        envelopes.append(crossing(len(envelopes) + 1, node, counts[node.name], parent, lane))
        own = len(envelopes)
        for child in node.children:
            add(child, own, lane)

    for node in nodes:
        add(node, None, "0")
    return Trace(msgspec.structs.replace(HEADER, **header), tuple(envelopes), footer)


def crossing(seq, node, nth=1, parent=None, lane="0", **more):
    fields = {
        "seq": seq, "name": node.name, "nth": nth, "kind": "tool", "lane": lane, "parent": parent,
        "site": f"agent.py:{node.name}", "input": encode({"n": node.argument}), "outcome": Returned(encode(node.result)),
        "started": seq * 1000, "duration": 7,
    }  # fmt: skip
    return Envelope(**fields | more)


def differences(first, second, **more):
    comparison = differ(first, second, **more)
    return [*comparison.run, *(difference for pair in comparison.pairs for difference in pair.differences)]


def kinds(first, second, **more):
    return [difference.kind for difference in differences(first, second, **more)]


nodes = st.recursive(
    st.builds(
        Node,
        st.sampled_from("abc"),
        st.integers(0, 2),
        st.integers(0, 1),
        st.sampled_from([None, None, "f.1", "f.2", "f.10", "g.1"]),
        st.just([]),
    ),
    lambda inner: st.builds(
        Node,
        st.sampled_from("abc"),
        st.integers(0, 2),
        st.integers(0, 1),
        st.sampled_from([None, "f.1", "f.2"]),
        st.lists(inner, max_size=4),
    ),
    max_leaves=14,
)
runs = st.lists(nodes, max_size=7)


def groups(siblings):
    """Yield each list of siblings of an invented run, at every depth."""
    yield siblings
    for node in siblings:
        yield from groups(node.children)


@given(runs)
def test_a_trace_is_the_same_as_itself(run):
    assert differences(trace(run), trace(run)) == []
    assert differ(trace(run), trace(run)).same


@given(runs, st.data())
def test_one_removed_crossing_is_one_missing_or_one_extra(run, data):
    complete = trace(run)
    places = [(group, at) for group in groups(run) for at in range(len(group))]
    assume(places)
    group, at = data.draw(st.sampled_from(places))
    removed = group.pop(at)
    less = trace(run)
    assert [
        (difference.kind, difference.address.partition("[")[0]) for difference in differences(complete, less)
    ] == [("missing", removed.name)]
    assert [
        (difference.kind, difference.address.partition("[")[0]) for difference in differences(less, complete)
    ] == [("extra", removed.name)]


@given(runs, st.data())
def test_two_swapped_neighbours_are_one_reordered_crossing(run, data):
    before = trace(run)
    places = [
        (group, at)
        for group in groups(run)
        for at in range(len(group) - 1)
        if group[at].step == group[at + 1].step and group[at].name != group[at + 1].name
    ]
    assume(places)
    group, at = data.draw(st.sampled_from(places))
    group[at], group[at + 1] = group[at + 1], group[at]
    assert kinds(before, trace(run)) == ["reordered"]


@given(runs)
def test_times_and_ids_are_not_compared(run):
    first = trace(run)
    later = [
        msgspec.structs.replace(envelope, started=envelope.started * 9, duration=1)
        for envelope in first.envelopes
    ]
    second = trace(run, id="01" + "B" * 24, created="2026-01-01T00:00:00Z", name="another", autochron="9")
    assert differences(first, msgspec.structs.replace(second, envelopes=tuple(later))) == []


@settings(max_examples=20)  # generating a run takes longer than comparing it
@given(samples.runs(), st.randoms(use_true_random=False))
def test_any_two_traces_can_be_compared_and_drawn(envelopes, chance):
    """The traces may have missing parents, arbitrary bodies and several lanes, as an edited file may."""
    edited = chance.sample(envelopes, chance.randint(0, len(envelopes)))
    edited = [msgspec.structs.replace(envelope, seq=seq) for seq, envelope in enumerate(edited, 1)]
    first, second = (Trace(HEADER, tuple(run), Footer(status=0)) for run in (envelopes, edited))
    assert differ(first, first).same
    assert not [line for line in draw_comparison(differ(first, first)).lines() if "the same" not in line]
    comparison = differ(first, second)
    paired = [
        envelope
        for pair in comparison.pairs
        for envelope in (pair.first, pair.second)
        if envelope is not None
    ]
    assert {envelope.seq for envelope in envelopes} >= {
        pair.first.seq for pair in comparison.pairs if pair.first is not None
    }
    assert len(paired) <= len(envelopes) + len(edited)
    assert comparison.same == (differences(first, second) == [])
    assert all(line.isprintable() and cells(line) <= 100 for line in draw_comparison(comparison).lines(None))
    assert len(draw_trace(envelopes).lines(None)) >= bool(envelopes)


@given(st.lists(st.sampled_from("abc"), max_size=12), st.lists(st.sampled_from("abcd"), max_size=12))
def test_common_finds_a_longest_common_subsequence(first, second):
    matches = common(first, second)
    assert [first[a] for a, _ in matches] == [second[b] for _, b in matches]
    assert matches == sorted(set(matches))
    assert len({a for a, _ in matches}) == len({b for _, b in matches}) == len(matches)
    lengths = [[0] * (len(second) + 1) for _ in range(len(first) + 1)]
    for a, mine in enumerate(first):
        for b, theirs in enumerate(second):
            lengths[a + 1][b + 1] = (
                lengths[a][b] + 1 if mine == theirs else max(lengths[a][b + 1], lengths[a + 1][b])
            )
    assert len(matches) == lengths[-1][-1]


def row(*calls):
    return [Node(name, given, 0, None, []) for name, given in calls]


def test_an_inserted_crossing_does_not_shift_the_later_ones_of_its_name():
    before = row(*(("t", n) for n in range(6)))
    after = row(*(("t", n) for n in (0, 1, 99, 2, 3, 4, 5)))
    assert [
        (difference.kind, difference.address) for difference in differences(trace(before), trace(after))
    ] == [("extra", "t[3]")]


def test_crossings_are_aligned_by_name_where_every_input_differs():
    before = row(*((name, n) for n, name in enumerate("mamamamab")))
    after = row(*((name, n + 100) for n, name in enumerate("mamacmamab")))
    assert kinds(trace(before), trace(after)) == ["input"] * 4 + ["extra"] + ["input"] * 5


def test_an_accidental_match_far_away_does_not_break_the_alignment():
    before = row(*((name, n) for n, name in enumerate("ab" * 30)))
    after = row(*((name, n + 1000) for n, name in enumerate("ab" * 30)))
    after[2] = Node("a", 50, 0, None, [])  # equal to the 51st crossing of `before`
    assert kinds(trace(before), trace(after)) == ["input"] * 60


def test_a_moved_crossing_is_reported_with_its_neighbours():
    moves = differences(trace(row(("a", 1), ("b", 2), ("c", 3))), trace(row(("b", 2), ("c", 3), ("a", 1))))
    assert [
        (difference.kind, difference.address, difference.first, difference.second) for difference in moves
    ] == [("reordered", "a[1]", "the first", "after c[1]")]


def test_lanes_that_were_started_alike_are_matched_by_input():
    before = [Node("t", n, n, f"f.{n}", []) for n in (1, 2, 3)]
    after = [Node("t", n, n, f"f.{4 - n}", []) for n in (1, 2, 3)]
    assert differences(trace(before), trace(after)) == []


def test_crossings_inside_a_missing_one_are_counted_in_its_message():
    inner = [Node("b", 1, 0, None, [Node("c", 1, 0, None, [])]), Node("b", 2, 0, None, [])]
    (missing,) = differences(trace([Node("a", 1, 0, None, inner)]), trace([]))
    assert missing.message == "a[1] (agent.py:a) is in the first trace only, with 3 crossings inside it"


def test_how_far_a_daemon_thread_got_is_only_a_notice():
    comparison = differ(trace([Node("a", 1, 0, "~poll.1", [])]), trace([]))
    assert [
        (difference.kind, difference.severity) for pair in comparison.pairs for difference in pair.differences
    ] == [("missing", "notice")]
    assert comparison.same


def test_many_crossings_are_compared_in_seconds():
    steps = [("ab"[n % 2], n) for n in range(5_000)]
    before = trace(row(*steps))
    changed = [(name, n + 10**6) for name, n in steps]
    for at in (4_000, 2_900, 4):
        del changed[at]
    reported = kinds(before, trace(row(*changed)))
    assert (reported.count("input"), reported.count("missing"), len(reported)) == (4_997, 3, 5_000)


# --- one pair ---


def pair(first=None, second=None, **more):
    """Compare two records of one crossing. Each keyword gives a field's values in the (first, second) record."""
    sides = []
    for at in (0, 1):
        fields = {key: values[at] for key, values in more.items()}
        if first is not None:
            fields["outcome"] = (first, second)[at]
        sides.append(Trace(HEADER, (crossing(1, Node("t", 1, 0, None, []), **fields),), Footer(status=0)))
    return [
        (difference.kind, difference.path, difference.first, difference.second)
        for difference in differences(*sides)
    ]


def raised(name, message, line=1):
    frames = [{"file": "agent.py", "line": line, "name": "t"}]
    return Raised(encode({"$error": name, "args": [message], "traceback": frames}))


def stream(*items, end=Returned()):
    return Streamed(tuple(encode(item) for item in items), end)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (Returned(b'{"a":[1,2]}'), Returned(b'{"a":[1,3]}'), ("a.1", "2", "3")),
        (Returned(b'{"$tuple":[1]}'), Returned(b'{"$tuple":[2]}'), ("0", "1", "2")),
        (Returned(b"1"), Returned(b"2"), ("(value)", "1", "2")),
        (Returned(argument="x"), Returned(b"1"), ("(value)", "argument x", "a value")),
        (Returned(b"1"), raised("builtins:ValueError", "no"), ("(end)", "returned", "raised ValueError")),
        (
            raised("builtins:ValueError", "no"),
            raised("builtins:KeyError", "no"),
            ("(end)", "raised ValueError", "raised KeyError"),
        ),
        (
            raised("builtins:ValueError", "no"),
            raised("builtins:ValueError", "yes"),
            ("args.0", '"no"', '"yes"'),
        ),
        (stream(1, {"k": 2}), stream(1, {"k": 3}), ("items.1.k", "2", "3")),
        (stream(1, 2), stream(1), ("items", "2 items", "1 item")),
        (stream(1), stream(1, end=Closed()), ("(end)", "returned", "closed")),
        (
            stream(1, end=Returned(b"1")),
            stream(1, end=Returned(b"2")),
            ("return.(value)", "1", "2"),
        ),
        (Returned(), stream(1), ("(end)", "returned", "gave a stream of 1 item")),
    ],
)
def test_how_a_crossing_ended_is_compared(first, second, expected):
    assert pair(first, second) == [("outcome", *expected)]
    assert pair(first, first) == []


def test_line_numbers_of_a_traceback_are_not_compared():
    assert pair(raised("builtins:ValueError", "no", 3), raised("builtins:ValueError", "no", 9)) == []


def test_changes_of_arguments_are_compared():
    assert pair(changed=(b'{"cart":[1]}', b'{"cart":[1,2]}')) == [("changed", "cart.1", "(missing)", "2")]
    assert pair(changed=(None, b'{"cart":[1]}')) == [("changed", "cart", "(missing)", "[1]")]


def model_request(model="m-1", temperature=0.5, **body):
    request = {"body": {"messages": ["hello"], "model": model, "temperature": temperature, **body}}
    return encode(request), encode({"model": model, "sampling": {"temperature": temperature}})


def test_changes_of_model_and_sampling_have_their_own_kinds():
    (before, meta), (after, second_meta) = model_request(), model_request("m-2", 0.9)
    assert pair(input=(before, after), meta=(meta, second_meta), kind=("model", "model")) == [
        ("model", "model", '"m-1"', '"m-2"'),
        ("sampling", "sampling.temperature", "0.5", "0.9"),
    ]
    after, second_meta = model_request("m-2", messages=["bye"])
    assert pair(input=(before, after), meta=(meta, second_meta), kind=("model", "model")) == [
        ("model", "model", '"m-1"', '"m-2"'),
        ("input", "body.messages.0", '"hello"', '"bye"'),
    ]


def exchange(body, status=200, url="http://127.0.0.1:1/v1/chat"):
    return (Exchange(method="POST", url=url, request=b"null", status=status, body=encode({"json": body})),)


def answer(ident, text="hello", created=1, **more):
    return {"id": f"chatcmpl-{ident * 6}", "created": created, "content": text, **more}


def exchanged(first, second):
    return pair(exchanges=(first, second), reenters=(True, True), kind=("model", "model"))


def test_values_that_a_provider_generates_are_not_compared_and_its_answers_are():
    first = exchange(answer("a1b2", created=1782162600), url="http://127.0.0.1:40001/v1/chat")
    second = exchange(answer("c3d4", created=1784109118), url="http://127.0.0.1:40002/v1/chat")
    assert exchanged(first, second) == []
    assert exchanged(first, exchange(answer("a1b2", "bye"))) == [
        ("exchange", "body.content", '"hello"', '"bye"')
    ]
    assert exchanged(first, exchange(answer("a1b2"), status=429)) == [("exchange", "status", "200", "429")]
    assert exchanged(first, first + first) == [("exchange", "requests", "1 request", "2 requests")]


def test_arguments_of_a_tool_request_are_compared_even_if_they_look_like_generated_ids():
    first, second = (
        exchange({"content": [{"type": "tool_use", "input": {"order_id": f"ord_{n}"}}]})
        for n in ("1234abcd5678", "9999abcd0000")
    )
    assert exchanged(first, second) == [
        ("exchange", "body.content.0.input.order_id", '"ord_1234abcd5678"', '"ord_9999abcd0000"')
    ]


def conversation(ident, reply, argument):
    """Return a trace of a model call whose answer goes into a tool call and into the next model call."""
    first = crossing(
        1,
        Node("m", 1, 0, None, []),
        kind="model",
        exchanges=exchange({"id": ident, "content": reply, "arguments": json.dumps({"text": argument})}),
        reenters=True,
    )
    tool = crossing(2, Node("t", 1, 0, None, []), input=encode({"text": argument}))
    second = crossing(
        3,
        Node("m", 1, 0, None, []),
        nth=2,
        kind="model",
        input=encode({"messages": [reply, {"call": ident}]}),
    )
    return Trace(HEADER, (first, tool, second), Footer(status=0))


def test_a_difference_that_follows_from_another_is_a_consequence():
    equal = conversation("call_" + "1a" * 6, "hello", "hi"), conversation("call_" + "2b" * 6, "hello", "hi")
    assert differences(*equal) == []
    reported = differences(equal[0], conversation("call_" + "2b" * 6, "goodbye", "see you"))
    assert [(difference.kind, difference.address, difference.severity) for difference in reported] == [
        ("exchange", "m[1]", "error"),
        ("input", "t[1]", "consequence"),
        ("input", "m[2]", "consequence"),
    ]


def test_changed_inputs_can_be_warnings_or_ignored():
    first, second = trace(row(("a", 1))), trace(row(("a", 2)))
    assert not differ(first, second).same
    assert [difference.severity for difference in differences(first, second, inputs="warn")] == ["warning"]
    assert differ(first, second, inputs="warn").same
    assert differences(first, second, inputs="ignore") == []


# --- whole runs ---


def run_differences(first, second):
    return [
        (difference.kind, difference.path, difference.first, difference.second)
        for difference in differ(first, second).run
    ]


def test_command_ending_and_streams_of_the_runs_are_compared_too():
    plain = trace([], Footer(status=0, stdout=encode({"text": "a\nb\n"})))
    failed = Footer(
        status=1, error="ValueError", stdout=encode({"text": "a\nc\n"}), stdin=encode({"text": "y"})
    )
    changed = trace([], failed, command=Command("script", "agent.py", ("--fast",)))
    assert run_differences(plain, changed) == [
        ("command", None, "script agent.py", "script agent.py --fast"),
        ("status", None, "0", "1 ValueError"),
        ("output", "line 2", "'b'", "'c'"),
        ("stdin", "line 1", "(nothing)", "'y'"),
    ]


def test_a_trace_that_was_cut_off_differs_by_its_end():
    complete, cut = trace([]), trace([], None)
    assert run_differences(complete, cut) == [("end", None, "came to its end", "cut off")]
    assert run_differences(cut, cut) == []

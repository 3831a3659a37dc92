"""Two traces beside each other: what is the same is told as the same, and one change is told as one."""

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
    """One crossing of a made-up run: in the lane of its parent, or in one that was started there."""

    def __init__(self, name, given, got, step, children):
        self.name, self.given, self.got, self.step, self.children = name, given, got, step, children

    def __repr__(self):
        return f"Node{(self.name, self.given, self.got, self.step, self.children)}"


def trace(nodes, footer=Footer(status=0), **header):
    """Write made-up crossings as a trace."""
    envelopes, counts = [], {}

    def put(node, parent, lane):
        lane = f"{lane}/{node.step}" if node.step else lane
        counts[node.name] = counts.get(node.name, 0) + 1
        envelopes.append(crossing(len(envelopes) + 1, node, counts[node.name], parent, lane))
        own = len(envelopes)
        for child in node.children:
            put(child, own, lane)

    for node in nodes:
        put(node, None, "0")
    return Trace(msgspec.structs.replace(HEADER, **header), tuple(envelopes), footer)


def crossing(seq, node, nth=1, parent=None, lane="0", **more):
    fields = {
        "seq": seq, "name": node.name, "nth": nth, "kind": "tool", "lane": lane, "parent": parent,
        "site": f"agent.py:{node.name}", "input": encode({"n": node.given}), "outcome": Returned(encode(node.got)),
        "started": seq * 1000, "duration": 7,
    }  # fmt: skip
    return Envelope(**fields | more)


def differences(first, second, **more):
    found = differ(first, second, **more)
    return [*found.run, *(each for pair in found.pairs for each in pair.differences)]


def kinds(first, second, **more):
    return [each.kind for each in differences(first, second, **more)]


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


def groups(found):
    """Yield the lists of siblings of a made-up run, at all depths."""
    yield found
    for node in found:
        yield from groups(node.children)


@given(runs)
def test_a_trace_is_the_same_as_itself(found):
    assert differences(trace(found), trace(found)) == []
    assert differ(trace(found), trace(found)).same


@given(runs, st.data())
def test_one_crossing_that_is_gone_is_one_missing(found, data):
    whole = trace(found)
    places = [(group, at) for group in groups(found) for at in range(len(group))]
    assume(places)
    group, at = data.draw(st.sampled_from(places))
    gone = group.pop(at)
    less = trace(found)
    assert [(each.kind, each.address.partition("[")[0]) for each in differences(whole, less)] == [
        ("missing", gone.name)
    ]
    assert [(each.kind, each.address.partition("[")[0]) for each in differences(less, whole)] == [
        ("extra", gone.name)
    ]


@given(runs, st.data())
def test_two_neighbours_that_change_places_are_one_reordered(found, data):
    before = trace(found)
    places = [
        (group, at)
        for group in groups(found)
        for at in range(len(group) - 1)
        if group[at].step == group[at + 1].step and group[at].name != group[at + 1].name
    ]
    assume(places)
    group, at = data.draw(st.sampled_from(places))
    group[at], group[at + 1] = group[at + 1], group[at]
    assert kinds(before, trace(found)) == ["reordered"]


@given(runs)
def test_times_and_ids_never_count(found):
    first = trace(found)
    later = [msgspec.structs.replace(each, started=each.started * 9, duration=1) for each in first.envelopes]
    second = trace(found, id="01" + "B" * 24, created="2026-01-01T00:00:00Z", name="another", autochron="9")
    assert differences(first, msgspec.structs.replace(second, envelopes=tuple(later))) == []


@settings(max_examples=20)  # to make one up takes longer than to compare it
@given(samples.runs(), st.randoms(use_true_random=False))
def test_any_two_traces_can_be_compared_and_drawn(one, chance):
    """Parents that are not there, bodies that are no envelope's, several lanes: whatever a file that was edited holds."""
    other = chance.sample(one, chance.randint(0, len(one)))
    other = [msgspec.structs.replace(each, seq=seq) for seq, each in enumerate(other, 1)]
    first, second = (Trace(HEADER, tuple(each), Footer(status=0)) for each in (one, other))
    assert differ(first, first).same
    assert not [line for line in draw_comparison(differ(first, first)).lines() if "the same" not in line]
    found = differ(first, second)
    paired = [each for pair in found.pairs for each in (pair.first, pair.second) if each is not None]
    assert {each.seq for each in one} >= {pair.first.seq for pair in found.pairs if pair.first is not None}
    assert len(paired) <= len(one) + len(other)
    assert found.same == (differences(first, second) == [])
    assert all(line.isprintable() and cells(line) <= 100 for line in draw_comparison(found).lines(None))
    assert len(draw_trace(one).lines(None)) >= bool(one)


@given(st.lists(st.sampled_from("abc"), max_size=12), st.lists(st.sampled_from("abcd"), max_size=12))
def test_what_is_common_is_as_long_as_it_can_be(one, other):
    found = common(one, other)
    assert [one[a] for a, _ in found] == [other[b] for _, b in found]
    assert found == sorted(set(found))
    assert len({a for a, _ in found}) == len({b for _, b in found}) == len(found)
    lengths = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for a, mine in enumerate(one):
        for b, theirs in enumerate(other):
            lengths[a + 1][b + 1] = (
                lengths[a][b] + 1 if mine == theirs else max(lengths[a][b + 1], lengths[a + 1][b])
            )
    assert len(found) == lengths[-1][-1]


def row(*calls):
    return [Node(name, given, 0, None, []) for name, given in calls]


def test_one_that_was_put_in_does_not_shift_those_of_its_name():
    before = row(*(("t", n) for n in range(6)))
    after = row(*(("t", n) for n in (0, 1, 99, 2, 3, 4, 5)))
    assert [(each.kind, each.address) for each in differences(trace(before), trace(after))] == [
        ("extra", "t[3]")
    ]


def test_where_every_input_is_another_names_tell():
    before = row(*((name, n) for n, name in enumerate("mamamamab")))
    after = row(*((name, n + 100) for n, name in enumerate("mamacmamab")))
    assert kinds(trace(before), trace(after)) == ["input"] * 4 + ["extra"] + ["input"] * 5


def test_a_chance_likeness_far_away_does_not_tear_the_rest_apart():
    before = row(*((name, n) for n, name in enumerate("ab" * 30)))
    after = row(*((name, n + 1000) for n, name in enumerate("ab" * 30)))
    after[2] = Node("a", 50, 0, None, [])  # as the 51st was
    assert kinds(trace(before), trace(after)) == ["input"] * 60


def test_a_moved_crossing_is_told_with_its_neighbours():
    moved = differences(trace(row(("a", 1), ("b", 2), ("c", 3))), trace(row(("b", 2), ("c", 3), ("a", 1))))
    assert [(each.kind, each.address, each.first, each.second) for each in moved] == [
        ("reordered", "a[1]", "the first", "after c[1]")
    ]


def test_lanes_that_were_started_alike_are_told_apart_by_input():
    before = [Node("t", n, n, f"f.{n}", []) for n in (1, 2, 3)]
    after = [Node("t", n, n, f"f.{4 - n}", []) for n in (1, 2, 3)]
    assert differences(trace(before), trace(after)) == []


def test_what_is_inside_a_missing_crossing_is_counted_with_it():
    inner = [Node("b", 1, 0, None, [Node("c", 1, 0, None, [])]), Node("b", 2, 0, None, [])]
    (missing,) = differences(trace([Node("a", 1, 0, None, inner)]), trace([]))
    assert missing.message == "a[1] (agent.py:a) is in the first trace only, with 3 crossings inside it"


def test_how_far_a_daemon_got_does_not_count():
    found = differ(trace([Node("a", 1, 0, "~poll.1", [])]), trace([]))
    assert [(each.kind, each.severity) for pair in found.pairs for each in pair.differences] == [
        ("missing", "notice")
    ]
    assert found.same


def test_many_crossings_are_compared_in_seconds():
    steps = [("ab"[n % 2], n) for n in range(5_000)]
    before = trace(row(*steps))
    changed = [(name, n + 10**6) for name, n in steps]
    for at in (4_000, 2_900, 4):
        del changed[at]
    found = kinds(before, trace(row(*changed)))
    assert (found.count("input"), found.count("missing"), len(found)) == (4_997, 3, 5_000)


# --- one pair ---


def pair(outcome=None, other=None, **more):
    """Compare two records of one crossing; keywords give (first, second)."""
    sides = []
    for at in (0, 1):
        fields = {key: both[at] for key, both in more.items()}
        if outcome is not None:
            fields["outcome"] = (outcome, other)[at]
        sides.append(Trace(HEADER, (crossing(1, Node("t", 1, 0, None, []), **fields),), Footer(status=0)))
    return [(each.kind, each.path, each.first, each.second) for each in differences(*sides)]


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


def test_the_lines_that_an_exception_came_by_do_not_count():
    assert pair(raised("builtins:ValueError", "no", 3), raised("builtins:ValueError", "no", 9)) == []


def test_what_it_changed_in_its_arguments_is_compared():
    assert pair(changed=(b'{"cart":[1]}', b'{"cart":[1,2]}')) == [("changed", "cart.1", "(missing)", "2")]
    assert pair(changed=(None, b'{"cart":[1]}')) == [("changed", "cart", "(missing)", "[1]")]


def asked(model="m-1", temperature=0.5, **body):
    given = {"body": {"messages": ["hello"], "model": model, "temperature": temperature, **body}}
    return encode(given), encode({"model": model, "sampling": {"temperature": temperature}})


def test_a_model_and_its_sampling_are_named_as_such():
    (before, meta), (after, now) = asked(), asked("m-2", 0.9)
    assert pair(input=(before, after), meta=(meta, now), kind=("model", "model")) == [
        ("model", "model", '"m-1"', '"m-2"'),
        ("sampling", "sampling.temperature", "0.5", "0.9"),
    ]
    after, now = asked("m-2", messages=["bye"])
    assert pair(input=(before, after), meta=(meta, now), kind=("model", "model")) == [
        ("model", "model", '"m-1"', '"m-2"'),
        ("input", "body.messages.0", '"hello"', '"bye"'),
    ]


def exchange(body, status=200, url="http://127.0.0.1:1/v1/chat"):
    return (Exchange(method="POST", url=url, request=b"null", status=status, body=encode({"json": body})),)


def answer(ident, text="hello", created=1, **more):
    return {"id": f"chatcmpl-{ident * 6}", "created": created, "content": text, **more}


def exchanged(first, second):
    return pair(exchanges=(first, second), reenters=(True, True), kind=("model", "model"))


def test_what_a_provider_makes_up_does_not_count_and_what_it_says_does():
    one = exchange(answer("a1b2", created=1782162600), url="http://127.0.0.1:40001/v1/chat")
    other = exchange(answer("c3d4", created=1784109118), url="http://127.0.0.1:40002/v1/chat")
    assert exchanged(one, other) == []
    assert exchanged(one, exchange(answer("a1b2", "bye"))) == [
        ("exchange", "body.content", '"hello"', '"bye"')
    ]
    assert exchanged(one, exchange(answer("a1b2"), status=429)) == [("exchange", "status", "200", "429")]
    assert exchanged(one, one + one) == [("exchange", "requests", "1 request", "2 requests")]


def test_what_a_model_asks_a_tool_for_is_content_whatever_its_fields_are_called():
    one, other = (
        exchange({"content": [{"type": "tool_use", "input": {"order_id": f"ord_{n}"}}]})
        for n in ("1234abcd5678", "9999abcd0000")
    )
    assert exchanged(one, other) == [
        ("exchange", "body.content.0.input.order_id", '"ord_1234abcd5678"', '"ord_9999abcd0000"')
    ]


def conversation(ident, said, sent):
    """A model call whose answer goes into a tool and into the next call."""
    first = crossing(
        1,
        Node("m", 1, 0, None, []),
        kind="model",
        exchanges=exchange({"id": ident, "content": said, "arguments": json.dumps({"text": sent})}),
        reenters=True,
    )
    tool = crossing(2, Node("t", 1, 0, None, []), input=encode({"text": sent}))
    second = crossing(
        3, Node("m", 1, 0, None, []), nth=2, kind="model", input=encode({"messages": [said, {"call": ident}]})
    )
    return Trace(HEADER, (first, tool, second), Footer(status=0))


def test_what_only_follows_is_told_as_such():
    same = conversation("call_" + "1a" * 6, "hello", "hi"), conversation("call_" + "2b" * 6, "hello", "hi")
    assert differences(*same) == []
    found = differences(same[0], conversation("call_" + "2b" * 6, "goodbye", "see you"))
    assert [(each.kind, each.address, each.severity) for each in found] == [
        ("exchange", "m[1]", "error"),
        ("input", "t[1]", "consequence"),
        ("input", "m[2]", "consequence"),
    ]


def test_inputs_can_be_warned_of_or_ignored():
    one, other = trace(row(("a", 1))), trace(row(("a", 2)))
    assert not differ(one, other).same
    assert [each.severity for each in differences(one, other, inputs="warn")] == ["warning"]
    assert differ(one, other, inputs="warn").same
    assert differences(one, other, inputs="ignore") == []


# --- whole runs ---


def told(first, second):
    return [(each.kind, each.path, each.first, each.second) for each in differ(first, second).run]


def test_runs_are_compared_beside_their_crossings():
    plain = trace([], Footer(status=0, stdout=encode({"text": "a\nb\n"})))
    failed = Footer(
        status=1, error="ValueError", stdout=encode({"text": "a\nc\n"}), stdin=encode({"text": "y"})
    )
    other = trace([], failed, command=Command("script", "agent.py", ("--fast",)))
    assert told(plain, other) == [
        ("command", None, "script agent.py", "script agent.py --fast"),
        ("status", None, "0", "1 ValueError"),
        ("output", "line 2", "'b'", "'c'"),
        ("stdin", "line 1", "(nothing)", "'y'"),
    ]


def test_a_trace_that_was_cut_off_has_no_end_to_compare():
    whole, cut = trace([]), trace([], None)
    assert told(whole, cut) == [("end", None, "came to its end", "cut off")]
    assert told(cut, cut) == []

"""Changes that a call makes to its arguments are recorded if a replay can repeat them; all others are reported."""

import argparse
import functools
import threading
from collections import deque
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import msgspec
import pytest
from pydantic import BaseModel

import autochron
from autochron.envelope import canonical
from autochron.instrument.decorators import marked
from autochron.model import BoundaryRule, Place, Target
from autochron.recording.changes import argument_of, watch
from autochron.weaving.gate import Point
from autochron.weaving.weave import Mark, weave_function


@autochron.boundary
def log(holder):
    holder["log"].append("line")
    return 1


@autochron.boundary
def put(holder, value):
    holder["new"] = value


def test_an_opaque_part_beside_a_change_is_reported_and_the_crossing_is_still_served(block):
    def use():
        holder = {"lock": threading.Lock(), "log": []}
        lock = holder["lock"]
        result = log(holder)
        return result, holder["log"], holder["lock"] is lock

    result, trace = block.record(use)
    assert "changed.holder.lock: _thread:lock" in trace.envelopes[0].opaque
    assert result == (1, ["line"], True)
    assert block.replay(trace, use) == (result, ())


def test_an_opaque_part_that_a_call_adds_is_left_out_and_reported(block):
    def use():
        holder = {"log": []}
        put(holder, threading.Lock())
        return sorted(holder)

    result, trace = block.record(use)
    assert "changed.holder.new: _thread:lock" in trace.envelopes[0].opaque
    assert result == ["log", "new"]
    assert block.replay(trace, use) == (["log"], ())


def test_a_masked_part_of_a_change_is_reported_and_keeps_the_callers_value(block):
    secret = "sk-proj-" + "a1B2c3D4" * 5

    def use():
        holder = {"api_key": secret, "log": []}
        log(holder)
        return holder

    result, trace = block.record(use)
    assert secret.encode() not in trace.envelopes[0].changed
    assert trace.envelopes[0].masked == ("changed.holder.api_key",)
    assert block.replay(trace, use) == (result, ())


@dataclass
class Counter:
    n: int = 0
    seen: list[int] = field(default_factory=list)

    @autochron.boundary
    def add(self, k):
        self.n += k
        self.seen.append(k)


class Plain:
    n = 0

    @functools.cached_property
    def cached(self):
        return [1]

    @autochron.boundary
    def count(self, k):
        self.n += k
        return k

    @autochron.boundary
    def look(self):
        return len(self.cached)

    @autochron.boundary
    def keep(self, what):
        self.kept = what
        self.lock = threading.Lock()

    @autochron.boundary
    def replace(self):
        self.sums["a"] = self.sums.pop("a") + 1
        self.rows[0] = "other"


def test_a_replay_repeats_changes_of_a_receiver_that_is_a_value(block):
    def use():
        counter = Counter()
        seen = counter.seen
        counter.add(2)
        counter.add(3)
        return counter, seen is counter.seen

    result, trace = block.record(use)
    assert result == (Counter(5, [2, 3]), True)
    assert block.replay(trace, use) == (result, ())


def test_a_replay_repeats_changes_of_an_object_of_the_program(block):
    def use():
        plain = Plain()
        plain.sums, plain.rows = {"a": 1}, ["one"]
        sums = plain.sums
        result = plain.count(2), plain.look(), plain.replace()
        return result, plain.n, plain.cached, plain.sums, plain.rows, plain.sums is sums

    result, trace = block.record(use)
    assert result == ((2, 1, None), 2, [1], {"a": 2}, ["other"], True)
    assert block.replay(trace, use) == (result, ())
    assert [envelope.opaque for envelope in trace.envelopes] == [(), (), ()]


def test_a_changed_attribute_that_cannot_be_restored_is_reported(block):
    def use():
        plain = Plain()
        plain.keep([1])
        return plain.kept

    result, trace = block.record(use)
    assert trace.envelopes[0].opaque == (f"changed.self.lock: {__name__}:Plain",)
    assert block.replay(trace, use) == (result, ())


class Stored:
    """A descriptor that keeps what is assigned under its own name."""

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, instance, owner=None):
        return instance.__dict__[self.name]

    def __set__(self, instance, value):
        instance.__dict__[self.name] = value


class memoized_property:
    def __init__(self, function):
        self.function = function
        self.name = function.__name__

    def __get__(self, instance, owner=None):
        value = instance.__dict__[self.name] = self.function(instance)
        return value


class Machine:
    guarded = Stored()

    def run(self):
        return 1

    again = functools.partialmethod(run)

    @staticmethod
    def start():
        return 1

    @functools.lru_cache
    def reckon(self):
        return 1

    @functools.cached_property
    def lock(self):
        return threading.Lock()

    @memoized_property
    def other_lock(self):
        return threading.Lock()

    @autochron.boundary
    def set(self, name):
        setattr(self, name, threading.Lock())

    @autochron.boundary
    def read(self, name):
        return str(type(getattr(self, name)))


@pytest.mark.parametrize("name", ["run", "again", "start", "reckon", "guarded"])
def test_an_attribute_that_is_set_over_one_of_the_class_is_reported(block, name):
    _, trace = block.record(lambda: Machine().set(name))
    assert trace.envelopes[0].opaque == (f"changed.self.{name}: {__name__}:Machine",)


@pytest.mark.parametrize("name", ["lock", "other_lock"])
def test_the_value_of_a_cached_property_is_no_change(block, name):
    _, trace = block.record(lambda: Machine().read(name))
    assert trace.envelopes[0].opaque == ()


def test_a_change_of_an_object_of_a_library_is_reported(block):
    @autochron.boundary
    def mark(parser):
        parser.prog = "other"

    _, trace = block.record(lambda: mark(argparse.ArgumentParser("one")))
    kind = "argparse:ArgumentParser"
    assert trace.envelopes[0].opaque == (f"changed.parser.prog: {kind}", f"(input).parser: {kind}")


@autochron.boundary
def many(*states, **named):
    states[0]["x"] = 1
    named.pop("given").append(2)
    return states[0]


@autochron.boundary
def keyword(**named):
    return named["given"]


def test_members_of_args_and_kwargs_keep_their_identity(block):
    def use():
        state, items = {}, []
        result = many(state, given=items)
        return state, items, result is state, keyword(given=items) is items

    returned, trace = block.record(use)
    assert returned == ({"x": 1}, [2], True, True)
    assert [envelope.outcome.argument for envelope in trace.envelopes] == ["states.0", "named.given"]
    assert block.replay(trace, use) == (returned, ())


@dataclass(frozen=True)
class Frozen:
    n: int


@dataclass(slots=True)
class Slots:
    n: int


class Struct(msgspec.Struct):
    n: int


class Model(BaseModel):
    n: int
    extra: list[int] | None = None


@autochron.boundary
def change_all(holder):
    for kind in ("slots", "struct", "model"):
        holder[kind].n += 1
    holder["model"].extra = [1]
    holder["deque"].append([2])
    holder["deque"][0].append(3)
    holder["pair"][1].append(4)
    holder["frozen"] = replace(holder["frozen"], n=2)
    del holder["gone"]
    holder["set"].add(5)
    holder["set"].discard(1)


def test_a_replay_changes_every_kind_of_value_in_place(block):
    def use():
        frozen, inner = Frozen(1), []
        holder = {
            "slots": Slots(1), "struct": Struct(1), "model": Model(n=1), "deque": deque([inner], maxlen=9), "pair": (1, []),
            "frozen": frozen, "gone": 1, "set": {1, 2},
        }  # fmt: skip
        before = dict(holder)
        change_all(holder)
        same = {key: holder.get(key) is value for key, value in before.items()}
        return holder, same, frozen, inner, holder["model"].model_fields_set

    result, trace = block.record(use)
    assert result[1] == {**dict.fromkeys(result[1], True), "frozen": False, "gone": False}
    assert block.replay(trace, use) == (result, ())


@autochron.boundary
def clear(a, b):
    a.clear()


def test_changes_of_each_parameter_are_recorded_separately(block):
    def use():
        a, b = {"d": {}}, {"a": {}, "d": {}}
        clear(a, b)
        return a, b

    result, trace = block.record(use)
    assert trace.envelopes[0].changed == b'{"a":{}}'
    assert block.replay(trace, use) == (result, ())


def captured(order):
    order["items"].append(1)
    return order["id"]


def narrowed(context, order, **more):
    context["usage"] += 1
    context["desk"]["log"].append(order["id"])
    order["seen"] = True
    more["list"].append(1)
    return order


def weave_with_rule(function, **options):
    """Weave a function as if it were decorated, with a rule that the decorator can't express."""
    name = function.__name__
    rule = BoundaryRule(
        id="@test",
        name=name,
        kind="tool",
        selector=Target(__name__, name),
        place=Place("test", 1),
        **options,
    )
    weave_function(function, Mark((rule,)), marked)


weave_with_rule(captured, capture=("order.id",))
weave_with_rule(narrowed, capture=("order",), changes=("context.desk", "list", "context.nothing"))


def test_a_replay_repeats_only_changes_that_the_rule_names(block):
    def use():
        context, order, items = {"usage": 0, "desk": {"log": [3]}}, {"id": 7}, []
        desk = context["desk"]
        returned = narrowed(context, order, list=items)
        return context, order, items, desk is context["desk"], returned is order

    result, trace = block.record(use)
    assert trace.envelopes[0].changed == b'{"context.desk":{"log":[3,7]},"list":[1]}'
    assert result == ({"usage": 1, "desk": {"log": [3, 7]}}, {"id": 7, "seen": True}, [1], True, True)
    replayed, divergences = block.replay(trace, use)
    assert replayed == ({"usage": 0, "desk": {"log": [3, 7]}}, {"id": 7}, [1], True, True)
    assert divergences == ()


def commit(desk, order):
    desk.state = {**desk.state, order: "paid"}
    desk.notes = None


weave_with_rule(commit, capture=("order",), changes=("desk.state", "desk.notes"))


def test_a_replay_repeats_what_a_call_put_in_the_place_of_what_the_rule_names(block):
    def use():
        desk = argparse.Namespace(state={7: "open"}, notes=["old"])
        commit(desk, 8)
        return desk.state

    result, trace = block.record(use)
    assert trace.envelopes[0].changed is not None
    assert result == {7: "open", 8: "paid"}
    assert block.replay(trace, use) == (result, ())


def test_capture_limits_the_input_but_not_the_recorded_changes(block):
    def use():
        order = {"id": 7, "items": []}
        captured(order)
        return order

    result, trace = block.record(use)
    assert trace.envelopes[0].input == b'{"order.id":7}'
    assert result == {"id": 7, "items": [1]}
    assert block.replay(trace, use) == (result, ())


def test_a_change_that_a_replay_cannot_repeat_is_a_divergence(block):
    def use(holder):
        log(holder)

    _, trace = block.record(lambda: use({"log": []}))
    _, divergences = block.replay(trace, lambda: use(Counter()), check=False)
    assert {divergence.kind for divergence in divergences} == {"input", "outcome"}
    assert "log[1] changed holder when it was recorded, which can't be done again" in divergences[-1].message


@pytest.mark.parametrize(
    ("values", "caught", "immutable"),
    [
        ((1, "a", None, b"", len, int), -1, True),
        (((), {}), 1, True),
        (((1,), {"a": 1}), 1, True),
        (([],), -1, False),
        (({},), -1, False),
        ((([],), {}), 1, False),
        (((), {"a": []}), 1, False),
    ],
)
def test_arguments_that_cannot_change_are_not_watched(values, caught, immutable):
    names = tuple("abcdef"[: len(values)])
    assert (watch(Point("m", "f", names), values, caught) is None) is immutable


def test_changes_of_a_value_that_cannot_be_encoded_are_still_detected():
    loop = []
    loop.append(loop)
    watched = watch(Point("m", "f", ("loop",)), (loop,), -1)
    assert watched.changes() == (None, ())
    loop.append(1)
    changed, opaque = watched.changes()
    assert changed.endswith(b",1]}")
    assert opaque == ("changed.loop.0: builtins:list",)


def test_argument_of_finds_an_argument_by_identity():
    shared = []
    point = Point("m", "f", ("a", "rest", "more"), variadic=("rest", "more"))
    assert argument_of(point, (shared, (), {}), shared) == "a"
    assert argument_of(point, (1, (0, shared), {}), shared) == "rest.1"
    assert argument_of(point, (1, (), {"k": shared}), shared) == "more.k"
    assert argument_of(point, ([], (), {}), shared) is None


# --- streams


@autochron.boundary
def stream(*, api_key=None):
    yield 1
    yield {"token": "sk-proj-" + "a1B2c3D4" * 5}
    yield [threading.Lock()]
    return threading.Lock()


def test_the_envelope_of_a_stream_lists_its_opaque_and_masked_parts(block):
    _, trace = block.record(lambda: list(stream()))
    envelope = trace.envelopes[0]
    assert envelope.opaque == ("items.*.0: _thread:lock", "return: _thread:lock")
    assert envelope.masked == ("items.*.token",)


# --- problems that are reported


def offline(question):
    question.append("asked")
    return "answer"


http_rule = BoundaryRule(
    id="@test", name="offline", kind="model", selector=Target(__name__, "offline"), place=Place("test", 1), codec="http"
)  # fmt: skip
weave_function(offline, Mark((http_rule,)), marked)


def test_a_model_call_without_an_http_exchange_is_reported_once(block):
    with autochron.record(store="memory:", rules=block.rules) as recording:
        offline([])
        offline([])
    (problem,) = recording.problems
    assert problem.startswith("offline made no HTTP request that was seen, so it is recorded by its value")
    assert problem.endswith("(no-exchange)")


@autochron.boundary
def takes_out(a, **kw):
    taken = kw.pop("pair")
    a.append(1)
    return taken


def test_a_keyword_argument_that_is_returned_keeps_its_identity(block):
    def use():
        pair = (1, 2)
        return takes_out([1], pair=pair) is pair

    result, trace = block.record(use)
    assert result is True
    assert block.replay(trace, use) == (True, ())


def test_a_crossing_that_could_not_be_recorded_counts_as_lost_once_and_is_not_stored(block, monkeypatch):
    def broken(names, values):
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(canonical, "canonical", broken)
    with autochron.record(store="memory:", rules=block.rules) as recording:
        assert put({}, 1) is None
    assert recording.problems == ("put[1] could not be recorded: RuntimeError: a fault of ours (lost)",)
    assert (recording.trace().envelopes, recording.footer.lost) == ((), 1)


def test_a_stream_that_ends_after_its_recording_changes_nothing(block):
    with autochron.record(store="memory:", rules=block.rules) as recording:
        stream = numbers()
        assert next(stream) == 0
    assert list(stream) == [1, 2]
    outcome = recording.trace().envelopes[0].outcome
    assert (outcome.items, type(outcome.end).__name__, recording.footer.lost) == ((b"0",), "Abandoned", 0)
    assert recording.problems == ()


@autochron.boundary
def numbers():
    yield from range(3)


@autochron.boundary
def rewrite(order):
    order["at"] = order["at"].astimezone(timezone(timedelta(hours=1)))
    order["price"] = Decimal("1.00")
    order["sign"] = -0.0


def test_a_replay_repeats_a_change_to_an_equal_value_with_another_form(block):
    def use():
        order = {"at": datetime(2026, 1, 1, tzinfo=UTC), "price": Decimal("1.0"), "sign": 0.0}
        rewrite(order)
        return str(order)

    result, trace = block.record(use)
    assert "timedelta(seconds=3600)" in result
    assert block.replay(trace, use) == (result, ())

"""What a call changes in its arguments is recorded as far as it can be made again, and the rest is reported."""

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


def test_an_opaque_part_beside_what_changed_is_reported_and_leaves_the_crossing_servable(block):
    def use():
        holder = {"lock": threading.Lock(), "log": []}
        lock = holder["lock"]
        given = log(holder)
        return given, holder["log"], holder["lock"] is lock

    given, trace = block.record(use)
    assert "changed.holder.lock: _thread:lock" in trace.envelopes[0].opaque
    assert given == (1, ["line"], True)
    assert block.replay(trace, use) == (given, ())


def test_an_opaque_part_that_is_new_is_left_out_and_reported(block):
    def use():
        holder = {"log": []}
        put(holder, threading.Lock())
        return sorted(holder)

    given, trace = block.record(use)
    assert "changed.holder.new: _thread:lock" in trace.envelopes[0].opaque
    assert given == ["log", "new"]
    assert block.replay(trace, use) == (["log"], ())


def test_what_was_masked_in_a_change_is_reported_and_the_callers_own_stays(block):
    secret = "sk-proj-" + "a1B2c3D4" * 5

    def use():
        holder = {"api_key": secret, "log": []}
        log(holder)
        return holder

    given, trace = block.record(use)
    assert secret.encode() not in trace.envelopes[0].changed
    assert trace.envelopes[0].masked == ("changed.holder.api_key",)
    assert block.replay(trace, use) == (given, ())


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


def test_a_receiver_that_is_a_value_is_changed_again(block):
    def use():
        counter = Counter()
        seen = counter.seen
        counter.add(2)
        counter.add(3)
        return counter, seen is counter.seen

    given, trace = block.record(use)
    assert given == (Counter(5, [2, 3]), True)
    assert block.replay(trace, use) == (given, ())


def test_what_changes_in_an_object_of_the_programs_own_is_changed_again(block):
    def use():
        plain = Plain()
        plain.sums, plain.rows = {"a": 1}, ["one"]
        sums = plain.sums
        given = plain.count(2), plain.look(), plain.replace()
        return given, plain.n, plain.cached, plain.sums, plain.rows, plain.sums is sums

    given, trace = block.record(use)
    assert given == ((2, 1, None), 2, [1], {"a": 2}, ["other"], True)
    assert block.replay(trace, use) == (given, ())
    assert [envelope.opaque for envelope in trace.envelopes] == [(), (), ()]


def test_an_attribute_that_cannot_be_made_again_is_reported(block):
    def use():
        plain = Plain()
        plain.keep([1])
        return plain.kept

    given, trace = block.record(use)
    assert trace.envelopes[0].opaque == (f"changed.self.lock: {__name__}:Plain",)
    assert block.replay(trace, use) == (given, ())


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


def test_what_changes_in_an_object_of_a_library_is_reported(block):
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

    given, trace = block.record(use)
    assert given == ({"x": 1}, [2], True, True)
    assert [envelope.outcome.argument for envelope in trace.envelopes] == ["states.0", "named.given"]
    assert block.replay(trace, use) == (given, ())


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


def test_every_kind_of_value_is_changed_in_place(block):
    def use():
        frozen, inner = Frozen(1), []
        holder = {
            "slots": Slots(1), "struct": Struct(1), "model": Model(n=1), "deque": deque([inner], maxlen=9), "pair": (1, []),
            "frozen": frozen, "gone": 1, "set": {1, 2},
        }  # fmt: skip
        kept = dict(holder)
        change_all(holder)
        same = {key: holder.get(key) is value for key, value in kept.items()}
        return holder, same, frozen, inner, holder["model"].model_fields_set

    given, trace = block.record(use)
    assert given[1] == {**dict.fromkeys(given[1], True), "frozen": False, "gone": False}
    assert block.replay(trace, use) == (given, ())


@autochron.boundary
def clear(a, b):
    a.clear()


def test_each_parameter_is_compared_by_itself(block):
    def use():
        a, b = {"d": {}}, {"a": {}, "d": {}}
        clear(a, b)
        return a, b

    given, trace = block.record(use)
    assert trace.envelopes[0].changed == b'{"a":{}}'
    assert block.replay(trace, use) == (given, ())


def captured(order):
    order["items"].append(1)
    return order["id"]


def narrowed(context, order, **more):
    context["usage"] += 1
    context["desk"]["log"].append(order["id"])
    order["seen"] = True
    more["list"].append(1)
    return order


def by_hand(function, **more):
    """Weave a function as if it were marked by hand, by a rule that a mark can't say."""
    name = function.__name__
    rule = BoundaryRule(
        id="@test",
        name=name,
        kind="tool",
        selector=Target(__name__, name),
        place=Place("test", 1),
        **more,
    )
    weave_function(function, Mark((rule,)), marked)


by_hand(captured, capture=("order.id",))
by_hand(narrowed, capture=("order",), changes=("context.desk", "list", "context.nothing"))


def test_only_what_a_rule_says_may_change_is_changed_again(block):
    def use():
        context, order, more = {"usage": 0, "desk": {"log": [3]}}, {"id": 7}, []
        desk = context["desk"]
        returned = narrowed(context, order, list=more)
        return context, order, more, desk is context["desk"], returned is order

    given, trace = block.record(use)
    assert trace.envelopes[0].changed == b'{"context.desk":{"log":[3,7]},"list":[1]}'
    assert given == ({"usage": 1, "desk": {"log": [3, 7]}}, {"id": 7, "seen": True}, [1], True, True)
    replayed, divergences = block.replay(trace, use)
    assert replayed == ({"usage": 0, "desk": {"log": [3, 7]}}, {"id": 7}, [1], True, True)
    assert divergences == ()


def test_what_is_captured_as_input_says_nothing_of_what_is_changed(block):
    def use():
        order = {"id": 7, "items": []}
        captured(order)
        return order

    given, trace = block.record(use)
    assert trace.envelopes[0].input == b'{"order.id":7}'
    assert given == {"id": 7, "items": [1]}
    assert block.replay(trace, use) == (given, ())


def test_a_change_that_cannot_be_made_again_is_a_divergence(block):
    def use(holder):
        log(holder)

    _, trace = block.record(lambda: use({"log": []}))
    _, divergences = block.replay(trace, lambda: use(Counter()), check=False)
    assert {each.kind for each in divergences} == {"input", "outcome"}
    assert "log[1] changed holder when it was recorded, which can't be done again" in divergences[-1].message


@pytest.mark.parametrize(
    ("values", "caught", "still"),
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
def test_arguments_that_cannot_change_are_not_watched(values, caught, still):
    names = tuple("abcdef"[: len(values)])
    assert (watch(Point("m", "f", names), values, caught) is None) is still


def test_a_value_that_cannot_be_written_is_still_compared():
    loop = []
    loop.append(loop)
    watched = watch(Point("m", "f", ("loop",)), (loop,), -1)
    assert watched.changes() == (None, ())
    loop.append(1)
    changed, opaque = watched.changes()
    assert changed.endswith(b",1]}")
    assert opaque == ("changed.loop.0: builtins:list",)


def test_an_argument_is_named_by_identity():
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


def test_what_is_opaque_or_masked_in_a_stream_is_told_by_its_envelope(block):
    _, trace = block.record(lambda: list(stream()))
    envelope = trace.envelopes[0]
    assert envelope.opaque == ("items.*.0: _thread:lock", "return: _thread:lock")
    assert envelope.masked == ("items.*.token",)


# --- said where it is not what was asked for


def offline(question):
    question.append("asked")
    return "answer"


http_rule = BoundaryRule(
    id="@test", name="offline", kind="model", selector=Target(__name__, "offline"), place=Place("test", 1), codec="http"
)  # fmt: skip
weave_function(offline, Mark((http_rule,)), marked)


def test_a_model_call_without_an_exchange_is_said(block):
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


def test_what_is_taken_out_of_keywords_comes_back_as_the_callers_own(block):
    def use():
        pair = (1, 2)
        return takes_out([1], pair=pair) is pair

    given, trace = block.record(use)
    assert given is True
    assert block.replay(trace, use) == (True, ())


def test_what_could_not_be_noted_is_lost_once_and_not_half_stored(block, monkeypatch):
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


def test_what_is_equal_and_looks_different_is_changed_again(block):
    def use():
        order = {"at": datetime(2026, 1, 1, tzinfo=UTC), "price": Decimal("1.0"), "sign": 0.0}
        rewrite(order)
        return str(order)

    given, trace = block.record(use)
    assert "timedelta(seconds=3600)" in given
    assert block.replay(trace, use) == (given, ())

"""Traces for the tests of the store, and strategies that generate them."""

from __future__ import annotations

import json
import random

import msgspec
from hypothesis import strategies as st

from autochron.model import (
    Abandoned,
    Closed,
    Command,
    Connection,
    Envelope,
    Exchange,
    Footer,
    Header,
    Raised,
    Returned,
    Streamed,
    Trace,
    Unwoven,
)

encode = msgspec.json.Encoder(order="sorted").encode


def header(number: int = 0, name: str | None = None) -> Header:
    return Header(
        id=f"01J{number:023d}",
        created=f"2025-01-01T00:00:{number % 60:02d}Z",
        command=Command("script", "agent.py", ("--fast",)),
        name=name,
        autochron="1",
    )


def small(seq: int, text: str = "") -> Envelope:
    return Envelope(
        seq=seq,
        name="tool",
        nth=seq,
        kind="tool",
        lane="0",
        parent=None,
        site="shop.py:tool",
        input=encode({"n": seq}),
        outcome=Returned(encode(text or f"result {seq}")),
    )


TOOLS = [
    {"type": "function", "function": {"name": f"tool_{n}", "description": f"Do {n}. " * 40, "parameters": {}}}
    for n in range(8)
]


def conversation(turns: int) -> list[Envelope]:
    """Return the run of an agent whose model calls each repeat the whole history."""
    chance = random.Random(7)
    messages: list[object] = [{"role": "system", "content": "Help. " * 50}]
    envelopes = []
    for turn in range(1, turns + 1):
        words = "".join(chance.choice("abcdefgh ") for _ in range(120))
        messages = [*messages, {"role": "user", "content": f'Turn {turn}: {words} — é \\ " $base'}]
        reply = {"role": "assistant", "content": words[::-1], "id": f"{chance.getrandbits(64):x}"}
        options = {"messages": messages, "model": "m", "tools": TOOLS}
        exchange = Exchange(
            method="POST",
            url="http://model.test/v1/chat/completions",
            request=encode({"json": options}),
            status=200,
            headers=(("content-type", "application/json"), ("x-request-id", f"{chance.getrandbits(64):x}")),
            body=encode({"json": {"choices": [{"message": reply}]}}),
        )
        envelopes.append(
            Envelope(
                seq=2 * turn - 1,
                name="agent",
                nth=turn,
                kind="model",
                lane="0",
                parent=None,
                site="sdk:Client.request",
                input=encode({"options": options}),
                outcome=Returned(b"null"),
                reenters=True,
                exchanges=(exchange,),
                meta=encode({"model": "m", "usage": {"total": turn}}),
            )
        )
        envelopes.append(msgspec.structs.replace(small(2 * turn), nth=turn))
        messages = [*messages, reply]
    return envelopes


def trace(envelopes: list[Envelope], footer: Footer | None = None, name: str | None = "t") -> Trace:
    return Trace(header(1, name), tuple(envelopes), footer)


CALL = Envelope(
    seq=0,
    name="handle",
    nth=1,
    kind="router",
    lane="0",
    parent=None,
    site="app.py:handle",
    input=b'{"order":{"item":"mug"}}',
    outcome=Streamed((b"1", b'{"a":2}'), Closed()),
    form="iterator",
    meta=b'{"arguments":{"order":{"item":"mug"}}}',
    duration=5,
    masked=("arguments.order.token",),
)
FOOTER = Footer(
    status=3,
    error="ValueError",
    stdout=encode({"text": "printed\n" * 200}),
    stdin=b'"typed"',
    unwoven_tools=("refund",),
    declined_tools=("notify",),
    connections=(Connection("10.0.0.1:443", "agent.py:3"),),
    ledger=(Unwoven("a", "b", "c"),),
    lost=2,
    call=CALL,
)


# --- strategies ---------------------------------------------------------------------------------------------

texts = st.text(st.characters(codec="utf-8"), max_size=8)
keys = st.one_of(
    texts, st.sampled_from(["$base", "$in", "$value", "$keep", "$tail", "$gone", "messages", "a", "b"])
)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=12,
)
long = st.builds(lambda word, times: word * times, texts.filter(bool), st.integers(0, 400))


@st.composite
def bodies(draw: st.DrawFn, *, big: bool = True) -> bytes:
    value = draw(values)
    if big and draw(st.booleans()):
        value = {
            "messages": [draw(long), value, *draw(st.lists(values, max_size=3))],
            "rest": draw(long),
            "$": value,
        }
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


names = st.sampled_from(["agent", "tool", "gèo"])
lanes = st.sampled_from(["0", "0.1"])
plain = st.builds(Returned, bodies(), st.none() | texts) | st.builds(Raised, bodies())
ends = plain | st.just(Abandoned()) | st.just(Closed())
outcomes = plain | st.builds(Streamed, st.lists(bodies(), max_size=4).map(tuple), ends)
exchanges = st.builds(
    Exchange,
    method=st.sampled_from(["GET", "POST"]),
    url=texts,
    request=bodies(),
    status=st.integers(0, 599),
    headers=st.lists(st.tuples(texts, texts), max_size=3).map(tuple),
    body=bodies(),
    error=st.none() | bodies(),
    attempts=st.integers(1, 3),
    complete=st.booleans(),
)


@st.composite
def runs(draw: st.DrawFn) -> list[Envelope]:
    """Draw the envelopes of one run, in which some inputs extend the input before."""
    envelopes = []
    history: list[object] = []
    for seq in draw(st.lists(st.integers(1, 60), unique=True, max_size=8).map(sorted)):
        history = history[: draw(st.integers(0, 4))] if draw(st.integers(0, 3)) == 0 else history
        history = [*history, draw(long), draw(values)]
        grown = json.dumps(
            {"messages": history, "tools": "t" * 300}, ensure_ascii=False, separators=(",", ":")
        ).encode()
        envelopes.append(
            Envelope(
                seq=seq,
                name=draw(names),
                nth=draw(st.integers(1, 9)),
                kind=draw(st.sampled_from(["model", "tool", "router", "ambient"])),
                lane=draw(lanes),
                parent=draw(st.none() | st.integers(1, 9)),
                site=draw(texts),
                input=grown if draw(st.booleans()) else draw(bodies()),
                outcome=draw(outcomes),
                form=draw(st.sampled_from(["value", "iterator", "future"])),
                exchanges=tuple(draw(st.lists(exchanges, max_size=2))),
                reenters=draw(st.booleans()),
                changed=draw(st.none() | bodies()),
                meta=draw(st.just(b"{}") | st.builds(b'{"model":%b}'.__mod__, bodies())),
                started=draw(st.integers(0, 2**60)),
                duration=draw(st.integers(0, 2**60)),
                masked=tuple(draw(st.lists(texts, max_size=2))),
                opaque=tuple(draw(st.lists(texts, max_size=2))),
            )
        )
    return envelopes

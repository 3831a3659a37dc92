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


def body(value: object, *more: object) -> bytes:
    """Return a value as the JSON text of a body; with `more`, inside a body as models get them."""
    if more:
        value = {"messages": [more[0], value, *more[1:]], "rest": more[0], "$": value}
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


@st.composite
def bodies(draw: st.DrawFn) -> bytes:
    more = (draw(long), *draw(st.lists(values, max_size=3))) if draw(st.booleans()) else ()
    return body(draw(values), *more)


names = st.sampled_from(["agent", "tool", "gèo"])


class _Parts:
    """Makes the parts of crossings out of values and texts that hypothesis has drawn."""

    def __init__(
        self, chance: random.Random, pool: list[object], words: list[str], longer: list[str]
    ) -> None:
        self.chance, self.pool, self.words, self.longer = chance, pool, words, longer

    def value(self) -> object:
        return self.chance.choice(self.pool)

    def text(self) -> str:
        return self.chance.choice(self.words)

    def texts(self, most: int) -> tuple[str, ...]:
        return tuple(self.text() for _ in range(self.chance.randint(0, most)))

    def body(self) -> bytes:
        if self.chance.random() < 0.5:
            return body(self.value())
        return body(
            self.value(),
            self.chance.choice(self.longer),
            *(self.value() for _ in range(self.chance.randint(0, 3))),
        )

    def outcome(self) -> Returned | Raised | Streamed:
        chance = self.chance
        if chance.random() < 0.5:
            items = tuple(self.body() for _ in range(chance.randint(0, 4)))
            return Streamed(items, chance.choice([self.plain(), Abandoned(), Closed()]))
        return self.plain()

    def plain(self) -> Returned | Raised:
        if self.chance.random() < 0.5:
            return Raised(self.body())
        return Returned(self.body(), self.chance.choice([None, self.text()]))

    def exchange(self) -> Exchange:
        chance = self.chance
        return Exchange(
            method=chance.choice(["GET", "POST"]),
            url=self.text(),
            request=self.body(),
            status=chance.randint(0, 599),
            headers=tuple((self.text(), self.text()) for _ in range(chance.randint(0, 3))),
            body=self.body(),
            error=chance.choice([None, self.body()]),
            attempts=chance.randint(1, 3),
            complete=chance.random() < 0.5,
        )

    def nanoseconds(self) -> int:
        return self.chance.choice([0, 1, self.chance.getrandbits(60)])

    def envelope(self, seq: int, grown: bytes) -> Envelope:
        chance = self.chance
        return Envelope(
            seq=seq,
            name=chance.choice(["agent", "tool", "gèo"]),
            nth=chance.randint(1, 9),
            kind=chance.choice(["model", "tool", "router", "ambient"]),
            lane=chance.choice(["0", "0.1"]),
            parent=chance.choice([None, chance.randint(1, 9)]),
            site=self.text(),
            input=grown if chance.random() < 0.5 else self.body(),
            outcome=self.outcome(),
            form=chance.choice(["value", "iterator", "future"]),
            exchanges=tuple(self.exchange() for _ in range(chance.randint(0, 2))),
            reenters=chance.random() < 0.5,
            changed=chance.choice([None, self.body()]),
            meta=chance.choice([b"{}", b'{"model":%b}' % self.body()]),
            started=self.nanoseconds(),
            duration=self.nanoseconds(),
            masked=self.texts(2),
            opaque=self.texts(2),
        )


@st.composite
def runs(draw: st.DrawFn) -> list[Envelope]:
    """Draw the envelopes of one run, in which some inputs extend the input before.

    Values, texts and the numbers of crossings are drawn, and a seed says which crossing has which of them. To draw each field
    of each crossing takes longer than what the tests do with a run.
    """
    seqs = draw(st.lists(st.integers(1, 60), unique=True, max_size=8).map(sorted))
    parts = _Parts(
        draw(st.randoms(use_true_random=True)),
        draw(st.lists(values, min_size=1, max_size=5)),
        draw(st.lists(texts, min_size=1, max_size=4)),
        draw(st.lists(long, min_size=1, max_size=3)),
    )
    chance = parts.chance
    envelopes = []
    history: list[object] = []
    for seq in seqs:
        history = history[: chance.randint(0, 4)] if chance.randint(0, 3) == 0 else history
        history = [*history, chance.choice(parts.longer), parts.value()]
        envelopes.append(parts.envelope(seq, body({"messages": history, "tools": "t" * 300})))
    return envelopes

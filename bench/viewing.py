"""What a page of a trace takes: to write, to open in a browser, and to scroll."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from msgspec import json

from autochron.model import Command, Envelope, Exchange, Footer, Header, Returned, Trace
from autochron.viewing.page import encode_page
from autochron.viewing.page_data import trace_page
from bench.measure import Figure, Size

WRITTEN = 1.0
LARGE_WRITTEN = 10.0
MEGABYTES = 2.0
FIRST_PAINT = 300.0
FRAME = 50.0
TURNS = 200
MANY = 100_000

_AGAINST = "nothing: a limit for people who wait"
_HEADER = Header(
    id="01M7YWWD5Q8PGZGCKTAWM6FY9N", created="2026-11-21T11:11:51.991Z", command=Command("script", "agent.py")
)
_WORDS = (
    "the",
    "order",
    "of",
    "a",
    "customer",
    "was",
    "looked",
    "up",
    "and",
    "its",
    "parcel",
    "is",
    "on",
    "the",
    "way",
)


def conversation(turns: int = TURNS, size: int = 500_000) -> Trace:
    """Return the trace of a conversation with a tool call in each turn: `size` bytes of messages in all."""
    each = size // turns // 3
    messages: list[Any] = [{"role": "system", "content": "You are the support agent of a small shop."}]
    envelopes: list[Envelope] = []
    for turn in range(turns):
        messages.append({"role": "user", "content": _text(turn, each)})
        call = {
            "id": f"call_{turn}",
            "type": "function",
            "function": {"name": "look_up", "arguments": f'{{"order": {turn}}}'},
        }
        answer = {"role": "assistant", "content": _text(turn + 7, each), "tool_calls": [call]}
        body = {"model": "gpt-4.1-mini", "messages": list(messages)}
        reply = {
            "json": {
                "id": f"chatcmpl-{turn}",
                "choices": [{"index": 0, "message": answer}],
                "usage": {"total_tokens": 90 * turn},
            }
        }
        exchange = Exchange(
            method="POST",
            url="http://127.0.0.1/v1/chat/completions",
            request=b"null",
            status=200,
            body=json.encode(reply),
        )
        seq = len(envelopes) + 1
        facts = {"model": "gpt-4.1-mini", "usage": {"total_tokens": 90 * turn}, "tools": ["look_up"]}
        envelopes.append(
            _envelope(
                seq,
                "model",
                "model",
                turn + 1,
                json.encode({"body": body}),
                b"null",
                exchanges=(exchange,),
                meta=json.encode(facts),
            )
        )
        result = {"order": turn, "note": _text(turn + 3, each)}
        envelopes.append(
            _envelope(seq + 1, "look_up", "tool", turn + 1, b'{"order":%d}' % turn, json.encode(result))
        )
        messages += [
            answer,
            {"role": "tool", "tool_call_id": f"call_{turn}", "content": json.encode(result).decode()},
        ]
    return Trace(_HEADER, tuple(envelopes), Footer(status=0))


def many_crossings(count: int = MANY) -> Trace:
    """Return a trace of many calls: in each of 50 lanes tools that call other tools."""
    return Trace(_HEADER, tuple(_calls(count)), Footer(status=0))


def _calls(count: int) -> Iterator[Envelope]:
    nth: dict[str, int] = {}
    for seq in range(1, count + 1):
        name = f"step_{seq % 7}"
        nth[name] = nth.get(name, 0) + 1
        parent = seq - seq % 5 if seq % 5 and seq > 5 else None
        lane = f"0/worker.{(seq - seq % 5) % 50 + 1}"
        value = json.encode({"order": seq, "state": _text(seq, 60)})
        yield _envelope(
            seq,
            name,
            "tool",
            nth[name],
            b'{"order":%d,"city":"%s"}' % (seq, _text(seq, 20).encode()),
            value,
            lane=lane,
            parent=parent,
        )


def _envelope(seq: int, name: str, kind: Any, nth: int, given: bytes, value: bytes, **more: Any) -> Envelope:
    return Envelope(
        seq=seq, name=name, kind=kind, nth=nth, **{"lane": "0", "parent": None, **more}, site="agent.py:run", input=given,
        outcome=Returned(value), started=seq * 1_000_000, duration=900_000,
    )  # fmt: skip


def _text(start: int, size: int) -> str:
    words = [f"{_WORDS[(start + at) % len(_WORDS)]}{at * start % 97}" for at in range(size // 7 + 1)]
    return " ".join(words)[:size]


def run(size: Size) -> Iterable[Figure]:
    """Measure a long conversation and a trace of many crossings."""
    for name, trace, seconds in (
        (f"{TURNS} turns, 500 KB", conversation(), WRITTEN),
        (f"{MANY:,} crossings", many_crossings(MANY if size.repeat > 1 else 1_000), LARGE_WRITTEN),
    ):
        begun = time.perf_counter()
        page = encode_page(trace_page(trace.header, trace.footer, trace.envelopes))
        taken = time.perf_counter() - begun
        yield _figure(f"a page of {name}, written", taken, "s", seconds)
        yield _figure("its size", len(page) / 1e6, "MB", MEGABYTES if seconds is WRITTEN else None)
        if size.repeat == 1:  # a test: no browser
            continue
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "page.html")
            path.write_bytes(page)
            yield from _browsed(path, paints_within=FIRST_PAINT if seconds is WRITTEN else None)


def _browsed(path: Path, *, paints_within: float | None) -> Iterator[Figure]:
    """Measure the first paint, and the longest frame while the list is scrolled through."""
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "viewing"))
    import browser  # type: ignore[import-not-found]

    program = browser.find()
    if program is None:
        return
    with tempfile.TemporaryDirectory() as folder, browser.tab(program, folder) as tab:
        for _ in range(2):  # the first page of a browser waits for the browser itself
            tab.session = None
            tab.open(path.as_uri())
            tab.wait("!!window.viewer")
        paint = tab.wait("performance.getEntriesByName('first-contentful-paint')[0]?.startTime")
        yield _figure("its first paint in a browser", paint, "ms", paints_within)
        yield _figure("the longest frame while it is scrolled", tab.js(SCROLLED), "ms", FRAME)


SCROLLED = """
new Promise((resolve) => {
  const list = document.querySelector('.list');
  let longest = 0, last = performance.now(), step = 0;
  const steps = 120, whole = list.scrollHeight - list.clientHeight;
  const frame = (now) => {
    if (step > 2) longest = Math.max(longest, now - last);
    last = now;
    step += 1;
    if (step > steps) { resolve(longest); return; }
    list.scrollTop = whole * (step / steps);
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
})
"""


def _figure(name: str, value: float, unit: str, target: float | None) -> Figure:
    return Figure(benchmark="viewing", name=name, value=value, unit=unit, against=_AGAINST, target=target)

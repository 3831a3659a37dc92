"""What a long conversation costs: the whole history and eight tool schemas in every request, into SQLite."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import autochron
from autochron.model import Rules
from autochron.rules.loading import load_rules
from autochron.store import open_store
from bench import agents, marks
from bench.measure import Case, Figure, Size, has_peer, medians, over, turn_about

BYTES = 1536.0
MICROSECONDS = 100.0
FLAT = 1.25
"""How much more a crossing of the longest conversation may keep than one of the middle one."""

Message = dict[str, Any]


def tools() -> list[Message]:
    """Return eight tool schemas."""
    names = (
        "find_order",
        "find_customer",
        "list_orders",
        "check_stock",
        "quote",
        "refund",
        "ship",
        "escalate",
    )
    return [
        {
            "type": "function",
            "function": {
                "name": name,
                "description": f"{name.replace('_', ' ').capitalize()}, and give what is known about it as one object.",
                "parameters": {
                    "type": "object",
                    "properties": {
                        "id": {"type": "string", "description": "The number on the letter, without spaces."},
                        "limit": {
                            "type": "integer",
                            "minimum": 1,
                            "maximum": 100,
                            "description": "How many at most.",
                        },
                        "reason": {"type": "string", "description": "Why it is asked, for the log."},
                    },
                    "required": ["id"],
                    "additionalProperties": False,
                },
            },
        }
        for name in names
    ]


def _call(turn: int) -> Message:
    arguments = f'{{"id": "A-{turn:05d}", "reason": "the customer asked about it in turn {turn}"}}'
    return {
        "id": f"call_{turn}",
        "type": "function",
        "function": {"name": "find_order", "arguments": arguments},
    }


def answer(messages: list[Message]) -> Message:
    """Return a model's answer: it looks at one order after another."""
    turn = len(messages) // 2
    return {"role": "assistant", "content": f"Let me look at order {turn} next.", "tool_calls": [_call(turn)]}


def find(order: str) -> Message:
    """Find an order."""
    return {
        "id": order,
        "status": "shipped",
        "total_cents": 4_999,
        "items": [{"sku": f"sku-{order}", "quantity": 2}],
    }


def converse(turns: int, model: Callable[[list[Message]], Message], tool: Callable[[str], Message]) -> None:
    """Hold a conversation."""
    messages: list[Message] = [{"role": "system", "content": "You are a careful support agent."}]
    for turn in range(turns):
        said = model(messages)
        found = tool(f"A-{turn:05d}")
        messages.append(said)
        messages.append({"role": "tool", "tool_call_id": f"call_{turn}", "content": json.dumps(found)})


# --- two forms -------------------------------------------------------------------------------------------------------


class Functions:
    """The model is a plain function that gets the messages and the schemas."""

    name = "plain functions"
    rules = marks.RULES

    def __init__(self, mark: Callable[[str, str], Callable[[Any], Any]]) -> None:
        schemas = tools()

        @mark("agent", "model")
        def model(messages: list[Message], tools: list[Message]) -> Message:
            return answer(messages)

        @mark("find_order", "tool")
        def tool(order: str) -> Message:
            return find(order)

        self._model = model
        self._tool = tool
        self._schemas = schemas

    def run(self, turns: int) -> None:
        """Hold a conversation."""
        converse(turns, lambda messages: self._model(messages, self._schemas), self._tool)


class Sdk:
    """The model is the real SDK of OpenAI on a transport that answers at once.

    Through `client.post`, as the SDK's manual has it for requests of one's own: it passes all that `create` passes except the
    walk over typed dictionaries, which at this length takes 40 ms a call, so that what recording adds could not be told
    from noise.
    """

    name = "the openai SDK"

    def __init__(self, rules: Rules, mark: Callable[[str, str], Callable[[Any], Any]]) -> None:
        from openai.types.chat import ChatCompletion

        self.rules = rules
        self._schemas = tools()
        self._completion = ChatCompletion
        self._client = client()

        @mark("find_order", "tool")
        def tool(order: str) -> Message:
            return find(order)

        self._tool = tool

    def _ask(self, messages: list[Message]) -> Message:
        body = {"model": "gpt-bench", "messages": messages, "tools": self._schemas}
        made = self._client.post("/chat/completions", body=body, cast_to=self._completion)
        said: Message = made.choices[0].message.model_dump(exclude_none=True)
        return said

    def run(self, turns: int) -> None:
        """Hold a conversation."""
        converse(turns, self._ask, self._tool)


def client(*, asks: bool = True) -> Any:
    """Return an OpenAI client on a mock transport; `asks` tells whether the model asks for a tool."""
    import httpx2
    from openai import OpenAI

    def handle(request: Any) -> Any:
        turn = request.content.count(b'"role":"tool"')
        body = {
            "id": f"chatcmpl-{turn}",
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": "gpt-bench-2026",
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "tool_calls" if asks else "stop",
                    "logprobs": None,
                    "message": {
                        "role": "assistant",
                        "content": f"Let me look at order {turn} next.",
                        **({"tool_calls": [_call(turn)]} if asks else {}),
                    },
                }
            ],
            "usage": {"prompt_tokens": 100 + turn, "completion_tokens": 20, "total_tokens": 120 + turn},
        }
        return httpx2.Response(200, json=body)

    return OpenAI(
        api_key="bench",
        base_url="http://127.0.0.1:9/v1",
        http_client=httpx2.Client(transport=httpx2.MockTransport(handle)),
    )


def pack_rules() -> Rules:
    """Return rules that are the packs alone; activating them twice weaves once."""
    return load_rules(None)


# --- measuring -------------------------------------------------------------------------------------------------------


def run(size: Size) -> Iterable[Figure]:
    """Measure both forms."""
    with tempfile.TemporaryDirectory() as folder:
        functions = Functions(marks.ours)
        yield from _form(
            size,
            folder,
            functions,
            Functions(agents.plain).run,
            _peer(folder),
        )
        sdk = Sdk(pack_rules(), marks.ours)
        yield from _form(size, folder, sdk, sdk.run, None)


class _Store:
    """A fresh store file each time."""

    def __init__(self, folder: str, name: str) -> None:
        self._stem = os.path.join(folder, name.replace(" ", "-"))
        self._made = 0
        self.path = ""

    def next(self) -> str:
        """Name a file that isn't there yet; the one before goes."""
        for suffix in ("", "-wal", "-shm"):
            if self.path and os.path.exists(self.path + suffix):
                os.unlink(self.path + suffix)
        self._made += 1
        self.path = f"{self._stem}-{self._made}.db"
        return self.path

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return sum(
            os.path.getsize(self.path + end) for end in ("", "-wal") if os.path.exists(self.path + end)
        )


Peer: TypeAlias = tuple[Callable[[int], None], _Store]


def _record(form: Functions | Sdk, turns: int, path: str) -> None:
    store = open_store(path)
    try:
        with autochron.record("bench", store=store, rules=form.rules) as recording:
            form.run(turns)
        assert not recording.problems, recording.problems
    finally:
        store.close()


def _peer(folder: str) -> Peer | None:
    """Return what holds a conversation of a length with agent-chronicle, and the store that it makes."""
    if not has_peer():
        return None
    form, made = Functions(marks.theirs), _Store(folder, "theirs")

    def run(turns: int) -> None:
        with marks.their_session(made.next()):
            form.run(turns)

    return run, made


def _form(
    size: Size,
    folder: str,
    form: Functions | Sdk,
    plain: Callable[[int], None],
    peer: Peer | None,
) -> Iterable[Figure]:
    kept: dict[int, float] = {}
    made = _Store(folder, form.name)
    for turns in size.turns:
        _record(form, turns, made.next())
        kept[turns] = made.size / (2 * turns)
    _, turns, longest = size.turns
    cases: dict[str, Case] = {
        "plain": lambda: plain(turns),
        "ours": lambda: _record(form, turns, made.next()),
    }
    if peer is not None:
        cases["theirs"] = lambda: peer[0](turns)
    times = turn_about(cases, max(1, size.rounds // 5))
    label = f"{turns} turns of {form.name}"
    samples = {f"{length} turns, bytes": each for length, each in kept.items()}
    yield Figure(
        benchmark="conversation",
        name=f"{label}, bytes per crossing",
        value=kept[turns],
        unit="B",
        against="the store's files, closed",
        target=BYTES,
        peer=peer and peer[1].size / (2 * turns),
        samples=samples,
    )
    yield Figure(
        benchmark="conversation",
        name=f"{label}, per crossing",
        value=over(times, "ours", "plain") / (2 * turns) * 1e6,
        unit="µs",
        against="over the same, not recorded; until the store is closed",
        target=MICROSECONDS,
        peer=peer and over(times, "theirs", "plain") / (2 * turns) * 1e6,
        samples=medians(times),
    )
    yield Figure(
        benchmark="conversation",
        name=f"{form.name}, growth of bytes per crossing",
        value=kept[longest] / kept[turns],
        unit="×",
        against=f"{longest} turns over {turns}",
        target=FLAT,
        samples=samples,
    )

"""Traces to be shown: made by hand, since their contents matter and not how they came about."""

import base64
import json

from autochron.model import (
    Command,
    Envelope,
    Exchange,
    Finding,
    Footer,
    Header,
    OutsideEffect,
    Raised,
    Returned,
    Site,
    Streamed,
    Trace,
)

HEADER = Header(
    id="01M7YWWD5Q8PGZGCKTAWM6FY9N", created="2026-11-21T11:11:51.991Z", command=Command("script", "agent.py", ("--fast",)),
    python="3.11.7", autochron="0.1.0",
)  # fmt: skip
PIXEL = base64.b64encode(
    bytes.fromhex(
        "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
        "1f15c4890000000d49444154789c6360f8cf500f0003860180a5e3c58b0000000049454e44ae426082"
    )
).decode()


def to_json(value):
    return json.dumps(value).encode()


def crossing(seq, name, kind="tool", given=None, result=None, **more):
    """Return an envelope; times are by its number, unless they are given."""
    fields = {
        "seq": seq, "name": name, "nth": 1, "kind": kind, "lane": "0", "parent": None, "site": f"tools.py:{name}",
        "input": to_json(given or {}),
        "outcome": Returned(to_json(result)), "started": seq * 10_000_000, "duration": 5_000_000,
    }  # fmt: skip
    return Envelope(**{**fields, **more})


def model_call(seq, nth, messages, answer, *, stream=None, **more):
    """Return a model call of OpenAI's chat completions."""
    body = {
        "model": "gpt-4.1-mini",
        "messages": messages,
        "tools": [{"type": "function", "function": {"name": "look_up"}}],
    }
    reply = {"json": {"id": f"chatcmpl-{nth}", "choices": [{"index": 0, "message": answer}], "usage": USAGE}}
    exchange = Exchange(
        method="POST", url="http://127.0.0.1/v1/chat/completions", request=b"null", status=200,
        headers=(("content-type", "application/json"),), body=to_json(stream or reply),
    )  # fmt: skip
    meta = to_json({"model": "gpt-4.1-mini", "usage": USAGE})
    return crossing(
        seq, "model", "model", {"body": body}, None,
        nth=nth, exchanges=(exchange,), meta=meta, site="openai._base_client:SyncAPIClient.request", **more,
    )  # fmt: skip


USAGE = {"prompt_tokens": 280, "completion_tokens": 36, "total_tokens": 316}
CALL = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "look_up", "arguments": '{"order_id": "48213"}'},
}
SYSTEM = {"role": "system", "content": "You are the support agent of a small shop."}
USER = {
    "role": "user",
    "content": [
        {"type": "text", "text": "Where is my mug?"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}},
    ],
}
ASKS = {
    "role": "assistant",
    "content": "Let me look.",
    "reasoning_content": "It may be lost.",
    "tool_calls": [CALL],
}
FOUND = {"role": "tool", "tool_call_id": "call_1", "content": '{"where": "in the post"}'}
DONE = {"role": "assistant", "content": "It is in the post."}

FINDING = Finding(
    site=Site("agent.py", 41, "plan", "3f9c0d41a7b2"),
    category="clock",
    call="datetime.datetime.now",
    count=2,
    tier="direct",
)
EFFECT = OutsideEffect(kind="file", does="writes", what="log.txt", site="agent.py:31", function="agent:log")


def small():
    """Return the trace of an agent with a tool that asks in a thread, one that raises, and one that streams."""
    error = {
        "$error": "tools:GatewayTimeout",
        "args": ["no answer within 10 s"],
        "traceback": [["tools.py", 50, "charge"]],
    }
    return Trace(
        HEADER,
        (
            model_call(1, 1, [SYSTEM, USER], ASKS),
            crossing(2, "look_up", given={"order_id": "48213"}, result={"where": "in the post", "price": 1.0, "id": 2**60}),
            crossing(3, "fetch", given={"url": "http://shop/1"}, result="page", lane="0/worker.1", parent=2,
                     masked=("token",)),
            crossing(4, "charge", given={"cents": 3990}, outcome=Raised(to_json(error))),
            crossing(5, "count", outcome=Streamed((b"1", b"2"), Returned(b'"end"')), opaque=("items.0: threading:Lock",),
                     meta=b'{"moments":[51000000,54000000]}' ),
            model_call(6, 2, [SYSTEM, USER, ASKS, FOUND], DONE),
        ),
        Footer(
            status=0, stdout=to_json({"text": "agent: It is in the post.\n"}), findings=(FINDING,), effects=(EFFECT,),
            unwoven_tools=("refund",),
        ),
    )  # fmt: skip


def changed():
    """Return another run of the same agent: a tool gives something else, one is missing, and one is new."""
    first = small()
    model, _look_up, fetch, _charge, count, last = first.envelopes
    look_up = crossing(
        2, "look_up", given={"order_id": "48213"}, result={"where": "lost", "price": 1.0, "id": 2**60 + 1}
    )
    header = Header(id="01M7YXM58SDP9KP9EARZBBEYBZ", created=HEADER.created, command=HEADER.command)
    return Trace(
        header,
        (model, look_up, fetch, count, last, crossing(7, "apologise", given={"to": "mara"})),
        first.footer,
    )


HOSTILE = [
    "</script><script>window.hacked = 1</script>",
    "<img src=x onerror='window.hacked = 1'>",
    "\u202egnp.exe\u202c \x1b[31m \x00 \u2028 \ufeff",
    "{{script}} {{index}} <!-- ]]> ${window.hacked = 1}",
    "javascript:window.hacked=1//",
    "__proto__",
    "constructor",
    "§",
    "' onclick='window.hacked=1' x='",
]


def hostile():
    """Return a trace whose every text tries to become code."""
    envelopes = []
    for seq, text in enumerate(HOSTILE, 1):
        url = text if seq % 2 else f"data:text/html,{text}"
        message = {
            "role": text,
            "content": [{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": url}}],
        }
        call = {"id": text, "type": "function", "function": {"name": text, "arguments": text}}
        answer = {"role": text, "content": text, "tool_calls": [call], "reasoning": text}
        envelopes += [
            model_call(2 * seq - 1, seq, [message, {**message, "content": text}], answer, lane=f"0/{text}"),
            crossing(2 * seq, text, given={text: text, "inner": {text: [text]}}, result={text: {"$type": text}},
                     site=text, masked=(text,), opaque=(f"{text}: {text}",)),
        ]  # fmt: skip
    header = Header(
        id=HEADER.id,
        created="<b>now",
        command=Command("script", HOSTILE[0], tuple(HOSTILE)),
        name=HOSTILE[1],
        python=HOSTILE[1],
    )
    footer = Footer(
        status=0, error=HOSTILE[1], stdout=to_json({"text": "\n".join(HOSTILE)}), unwoven_tools=tuple(HOSTILE),
        environment=((HOSTILE[0], HOSTILE[1]),),
    )  # fmt: skip
    return Trace(header, tuple(envelopes), footer)

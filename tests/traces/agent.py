"""What the kept traces are of: a shop's agent that uses each way of its SDK, and prints nothing that a version decides."""

import asyncio
import json
from dataclasses import asdict, dataclass
from decimal import Decimal

import openai
from pydantic import BaseModel

MODEL = "gpt-4.1-mini"


@dataclass(frozen=True)
class Quote:
    item: str
    price: Decimal
    sizes: tuple[int, ...]


class Summary(BaseModel):
    title: str
    stars: int


class SoldOut(LookupError):
    """There is none left."""


def quote(item):
    """Price an item."""
    return Quote(item, Decimal("12.90"), (1, 2, len(item)))


def reserve(item):
    """Put an item aside."""
    try:
        raise KeyError(item)
    except KeyError as error:
        raise SoldOut(f"no {item} left") from error


async def ship(order):
    """Send an order."""
    await asyncio.sleep(0)
    return {"order": order, "parcels": {order}}


TOOLS = {each.__name__: each for each in (quote, reserve)}
TEXT = {"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]}
SCHEMAS = [
    {"type": "function", "function": {"name": name, "description": each.__doc__, "parameters": TEXT}}
    for name, each in TOOLS.items()
]


def use(call):
    try:
        result = TOOLS[call.function.name](**json.loads(call.function.arguments))
    except SoldOut as error:
        return f"{error}, because of {error.__cause__!r}"
    return json.dumps(asdict(result), default=str)


def chat(client):
    messages = [{"role": "user", "content": "What does the mug cost, and is there one?"}]
    for _ in range(4):
        reply = client.chat.completions.create(model=MODEL, messages=messages, tools=SCHEMAS).choices[0].message
        print("chat:", reply.content)
        if not reply.tool_calls:
            return
        messages.append(reply)
        for call in reply.tool_calls:
            content = use(call)
            print(" ", call.function.name, content)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": content})


def stream(client):
    asked = [{"role": "user", "content": "Tell a story."}]
    with client.chat.completions.create(model=MODEL, messages=asked, stream=True) as chunks:
        print("stream:", "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices))


def parse(client):
    asked = [{"role": "user", "content": "Sum up the reviews."}]
    done = client.chat.completions.parse(model=MODEL, messages=asked, response_format=Summary)
    print("parse:", repr(done.choices[0].message.parsed))


def fail(fault):
    client = openai.OpenAI(default_headers={"x-loopback": fault}, max_retries=0)
    try:
        client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": "Hello."}])
    except openai.APIError as error:
        print("fail:", type(error).__name__, getattr(error, "status_code", None))


async def answer_both():
    async with openai.AsyncOpenAI() as client:

        async def ask(number):
            done = await client.responses.create(model=MODEL, input=f"Question {number}")
            return done.output_text, await ship(number)

        for text, shipped in await asyncio.gather(ask(1), ask(2)):
            print("both:", text, shipped)


def main():
    client = openai.OpenAI()
    chat(client)
    stream(client)
    parse(client)
    for fault in ("429", "disconnect"):
        fail(fault)
    asyncio.run(answer_both())


if __name__ == "__main__":
    main()

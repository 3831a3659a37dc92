"""Large results are cut before the model sees them."""

import json
import textwrap

import anthropic

from tests.agents.footprint import left

LIMIT = 1_200


def fetch_page(url: str) -> str:
    left("fetch_page")
    line = f"<p>{url} has a paragraph about herring, tides and the price of salt in 1742.</p>\n"
    return "<html>" + line * 800 + "</html>"


def search_archive(words: list[str]) -> list[dict]:
    left("search_archive")
    return [{"id": i, "title": " ".join(words), "score": round(1 / (i + 1), 4)} for i in range(400)]


TOOLS = {fetch_page.__name__: fetch_page, search_archive.__name__: search_archive}
DECLARED = [
    {"name": "fetch_page", "input_schema": {"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]}},
    {
        "name": "search_archive",
        "input_schema": {
            "type": "object",
            "properties": {"words": {"type": "array", "items": {"type": "string"}}},
            "required": ["words"],
        },
    },
]


def cut(text):
    return text if len(text) <= LIMIT else text[:LIMIT] + f"\n[{len(text) - LIMIT} more characters]"


def results(content):
    for block in content:
        if block.type == "tool_use":
            value = TOOLS[block.name](**block.input)
            text = value if isinstance(value, str) else json.dumps(value)
            yield {"type": "tool_result", "tool_use_id": block.id, "content": [{"type": "text", "text": cut(text)}]}


client = anthropic.Anthropic()
messages = [{"role": "user", "content": "What did salt cost in 1742?"}]
while True:
    response = client.messages.create(model="claude-haiku-4-5", max_tokens=900, tools=DECLARED, messages=messages)
    messages.append({"role": "assistant", "content": [block.model_dump() for block in response.content]})
    if response.stop_reason != "tool_use":
        print(textwrap.fill(response.content[0].text))
        break
    messages.append({"role": "user", "content": list(results(response.content))})

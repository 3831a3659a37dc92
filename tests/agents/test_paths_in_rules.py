"""Paths in rules, end to end: which tools a model asked for, and which values are kept, masked and compared."""

import pytest

from tests.agents.workshop import write

START = """
SCHEMA = {"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]}
ASK = [{"role": "user", "content": "Refund 48213."}]
STREAM = STREAMED


def refund(name):
    with open("ledger.txt", "a") as ledger:
        ledger.write(f"{name}\\n")


"""
CHAT = """
import openai

tools = [{"type": "function", "function": {"name": "refund", "parameters": SCHEMA}}]
choice = {"type": "function", "function": {"name": "refund"}}
client = openai.OpenAI()
response = client.chat.completions.create(model="m", messages=ASK, tools=tools, tool_choice=choice, stream=STREAM)
if STREAM:
    calls = [call for chunk in response for each in chunk.choices for call in each.delta.tool_calls or ()]
else:
    calls = response.choices[0].message.tool_calls
for call in calls:
    if call.function.name:
        refund(call.function.name)
"""
RESPONSES = """
import openai

tools = [{"type": "function", "name": "refund", "parameters": SCHEMA, "strict": False}]
choice = {"type": "function", "name": "refund"}
client = openai.OpenAI()
response = client.responses.create(model="m", input=ASK, tools=tools, tool_choice=choice, stream=STREAM)
items = [each.item for each in response if each.type == "response.output_item.done"] if STREAM else response.output
for item in items:
    if item.type == "function_call":
        refund(item.name)
"""
MESSAGES = """
import anthropic

tools = [{"name": "refund", "input_schema": SCHEMA}]
more = {"tools": tools, "tool_choice": {"type": "tool", "name": "refund"}, "max_tokens": 99}
response = anthropic.Anthropic().messages.create(model="m", messages=ASK, stream=STREAM, **more)
if STREAM:
    blocks = [each.content_block for each in response if each.type == "content_block_start"]
else:
    blocks = response.content
for block in blocks:
    if block.type == "tool_use":
        refund(block.name)
"""


def count_lines(path):
    return len(path.read_text().splitlines()) if path.exists() else 0


@pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize("api", [CHAT, RESPONSES, MESSAGES], ids=["chat", "responses", "messages"])
def test_a_tool_that_no_rule_weaves_is_reported_and_not_run_again(api, streamed, forked, provider, tmp_path):
    write(tmp_path, START.replace("STREAMED", str(streamed)) + api)
    (tmp_path / "autochron.toml").write_text("version = 1\nfind = false\n")
    with provider.serve() as model:
        recorded = forked.run(tmp_path, "run", "agent.py", model=model)
    assert recorded.status == 0, recorded.stderr
    assert "the model asked for refund, and no boundary is known to cover it" in recorded.stderr
    assert "(unwoven-tool)" in recorded.stderr
    paid = count_lines(tmp_path / "ledger.txt")
    assert paid > 0
    refused = forked.run(tmp_path, "replay", "last")
    assert (refused.status, refused.stdout) == (2, b""), refused.stderr
    assert "refund" in refused.stderr
    assert "--allow-unwoven" in refused.stderr
    assert count_lines(tmp_path / "ledger.txt") == paid


ORDERS = """
import os


def place(order, **more):
    return {"lines": order["lines"], "id": 7}


def main():
    sku, price = os.environ["SKU"], os.environ["PRICE"]
    lines = [{"kind": "gift", "note": "hush-hush"}, {"kind": "plain", "sku": sku, "price": price, "note": "hello"}]
    return place({"lines": lines, "seen": price}, order_id=price)


main()
"""
RULE = '[[boundary]]\nname = "place"\nkind = "tool"\ntarget = "agent:place"\n'
ONE, OTHER = {"SKU": "a", "PRICE": "1"}, {"SKU": "a", "PRICE": "2"}


@pytest.mark.parametrize(
    ("keys", "replay_environment", "differs"),
    [
        ("", OTHER, "more.order_id"),
        ('volatile = ["order.lines.*[kind=plain].price", "order.seen", "more.order_id"]\n', OTHER, None),
        (
            'volatile = ["order.lines.*[kind=gift].price", "order.seen", "more.order_id"]\n',
            OTHER,
            "order.lines.1.price",
        ),
        ('redact = ["order.lines.*[kind=plain].price", "order.seen", "more.order_id"]\n', OTHER, None),
        (
            'redact = ["order.lines.*.kind", "order.lines.*[kind=plain].price", "order.seen", "more"]\n',
            OTHER,
            None,
        ),
        ('capture = ["order.lines.*.sku", "order.nothing"]\n', OTHER, None),
        (
            'capture = ["order.lines.*.sku", "order.nothing"]\n',
            {"SKU": "b", "PRICE": "1"},
            "order.lines.*.sku.0",
        ),
        ('capture = ["order_id"]\n', OTHER, "order_id"),
        ('capture = ["order_id"]\n', {"SKU": "b", "PRICE": "1"}, None),
    ],
)
def test_paths_decide_which_parts_of_an_input_are_compared(
    keys, replay_environment, differs, fresh, tmp_path
):
    write(tmp_path, ORDERS, rules=RULE + keys)
    recorded = fresh.run(tmp_path, "run", "agent.py", **ONE)
    assert "place ×1" in recorded.stderr, recorded.stderr
    assert fresh.run(tmp_path, "replay", "last", **ONE).status == 0
    replayed = fresh.run(tmp_path, "replay", "last", **replay_environment)
    assert replayed.status == (differs is not None), replayed.stderr
    if differs:
        assert f"was given another input: {differs} was" in replayed.stderr


def test_a_filter_masks_only_the_items_that_it_selects(fresh, tmp_path):
    write(
        tmp_path,
        ORDERS,
        rules=f'{RULE}redact = ["order.lines.*[kind=gift].note", "lines.*[kind=gift].note"]\n',
    )
    fresh.run(tmp_path, "run", "agent.py", **ONE)
    stored = b"".join(file.read_bytes() for file in (tmp_path / ".autochron").iterdir())
    assert b"hush-hush" not in stored
    assert b"hello" in stored


@pytest.mark.parametrize(
    ("when", "crosses"),
    [
        ('{ "order.lines.1.sku" = "a" }', True),
        ('{ "order.lines.*.sku" = "b" }', False),
        ('{ "order.lines.*[kind=plain].sku" = "a" }', True),
        ('{ order_id = "1" }', True),
        ('{ order_id = "2" }', False),
    ],
)
def test_when_decides_by_the_arguments(when, crosses, fresh, tmp_path):
    write(tmp_path, ORDERS, rules=f"{RULE}when = {when}\n")
    recorded = fresh.run(tmp_path, "run", "agent.py", **ONE)
    assert ("place ×1" in recorded.stderr) is crosses, recorded.stderr

"""Cohere's tool use in version 2: two tools at once, the results as documents, the last answer streamed; then at once."""

import asyncio
import json

import cohere
from footprint import footprint

MODEL = "command-a-03-2025"


def query_daily_sales_report(day):
    """Return the sales of a day."""
    footprint("query_daily_sales_report")
    sales = {"2026-09-28": 5000, "2026-09-29": 10000}
    return [{"date": day, "summary": f"Total sales amount: {sales[day]}"}]


async def query_product_catalog(category):
    """Return the products of a category."""
    footprint("query_product_catalog")
    await asyncio.sleep(0)
    catalog = {"electronics": [{"product_id": "E1001", "name": "Smartphone"}], "clothing": []}
    return catalog[category]


TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "query_daily_sales_report",
            "description": "Connects to a database to retrieve overall sales volumes for a given day.",
            "parameters": {
                "type": "object",
                "properties": {"day": {"type": "string", "description": "As YYYY-MM-DD."}},
                "required": ["day"],
            },
        },
    },
    {
        "type": "function",
        "function": {
            "name": "query_product_catalog",
            "description": "Connects to a product catalog with information about all the products.",
            "parameters": {
                "type": "object",
                "properties": {"category": {"type": "string"}},
                "required": ["category"],
            },
        },
    },
]
FUNCTIONS = {
    "query_daily_sales_report": query_daily_sales_report,
    "query_product_catalog": lambda category: asyncio.run(query_product_catalog(category)),
}


def as_documents(results):
    return [{"type": "document", "document": {"data": json.dumps(result)}} for result in results]


def run_assistant(co, question):
    messages = [
        {"role": "system", "content": "You are a sales assistant."},
        {"role": "user", "content": question},
    ]
    response = co.chat(model=MODEL, messages=messages, tools=TOOLS)
    while response.message.tool_calls:
        print("Plan:", response.message.tool_plan)
        messages.append(response.message)
        for call in response.message.tool_calls:
            results = FUNCTIONS[call.function.name](**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": as_documents(results)})
        response = co.chat(model=MODEL, messages=messages, tools=TOOLS)
    return response.message.content[0].text


def stream(co, question):
    for event in co.chat_stream(model=MODEL, messages=[{"role": "user", "content": question}]):
        if event.type == "content-delta":
            print(event.delta.message.content.text, end="")
        elif event.type == "message-end":
            print(f" ({event.delta.usage.tokens.output_tokens:.0f} tokens)")


async def ask(co, question):
    pieces = []
    async for event in co.chat_stream(model=MODEL, messages=[{"role": "user", "content": question}]):
        if event.type == "content-delta":
            pieces.append(event.delta.message.content.text)
    response = await co.chat(model=MODEL, messages=[{"role": "user", "content": question}])
    return "".join(pieces) == response.message.content[0].text


async def ask_all(*questions):
    async with cohere.AsyncClientV2() as co:
        return await asyncio.gather(*(ask(co, question) for question in questions))


if __name__ == "__main__":
    client = cohere.ClientV2()
    print(run_assistant(client, "What were the sales of 29 September 2026, and which phones do we sell?"))
    stream(client, "Write a title for a blog post about API design.")
    print(asyncio.run(ask_all("Write a haiku.", "Write a limerick.")))

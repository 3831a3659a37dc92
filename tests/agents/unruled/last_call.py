"""The agent ends with the tool call: its result is printed, and no model hears of it."""

import json

from openai import OpenAI

from tests.agents.footprint import left


def book_taxi(pickup, people):
    left("book_taxi")
    return {"taxi": "T-88", "pickup": pickup, "seats": people}


TOOLS = {"book_taxi": book_taxi}
SPEC = {"type": "function", "function": {"name": "book_taxi", "parameters": {
    "type": "object", "properties": {"pickup": {"type": "string"}, "people": {"type": "integer"}},
    "required": ["pickup", "people"]}}}

response = OpenAI().chat.completions.create(
    model="gpt-4o", tools=[SPEC], messages=[{"role": "user", "content": "A taxi for two to the station."}]
)
for call in response.choices[0].message.tool_calls:
    print(TOOLS[call.function.name](**json.loads(call.function.arguments)))

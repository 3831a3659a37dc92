"""The model fills in a form by its own choice, and the last thing that the program does is what the form says."""

import json

from openai import OpenAI, pydantic_function_tool
from pydantic import BaseModel

from tests.agents.footprint import left


class Refund(BaseModel):
    order: int
    cents: int


def pay_back(refund):
    left("Refund")
    return f"{refund.cents / 100:.2f} for order {refund.order}"


client = OpenAI()
message = client.chat.completions.create(
    model="gpt-4o",
    messages=[{"role": "user", "content": "My order 7 is broken."}],
    tools=[pydantic_function_tool(Refund)],
).choices[0].message
for call in message.tool_calls:
    print(pay_back(Refund(**json.loads(call.function.arguments))))

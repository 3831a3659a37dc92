"""A class of data describes the arguments of a tool. What runs is a function of another name, whose result the model gets."""

import openai
from openai import OpenAI
from pydantic import BaseModel

from tests.agents.footprint import left


class BookTable(BaseModel):
    """Book a table."""

    guests: int
    day: str


def reserve(guests: int, day: str) -> str:
    left("BookTable")
    return f"table 12 by the window on {day}, held under R-{guests}771"


client = OpenAI()
messages = [{"role": "user", "content": "A table for four on Friday."}]
while True:
    answer = client.chat.completions.create(
        model="gpt-4o", messages=messages, tools=[openai.pydantic_function_tool(BookTable)]
    ).choices[0].message
    messages.append(answer)
    if not answer.tool_calls:
        break
    for call in answer.tool_calls:
        if call.function.name == "BookTable":
            wish = BookTable.model_validate_json(call.function.arguments)
            text = reserve(wish.guests, wish.day)
        messages.append({"role": "tool", "tool_call_id": call.id, "content": text})
print(answer.content)

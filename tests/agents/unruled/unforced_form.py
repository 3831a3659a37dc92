"""The model may fill in the form, and is not made to: then what is done with it may be a tool, and is none that anyone knows."""

import json

from openai import OpenAI, pydantic_function_tool
from pydantic import BaseModel


class Complaint(BaseModel):
    order: int
    text: str


client = OpenAI()
message = client.chat.completions.create(
    model="gpt-4o",
    messages=[{"role": "user", "content": "My order 7 is broken."}],
    tools=[pydantic_function_tool(Complaint)],
).choices[0].message
for call in message.tool_calls:
    print(Complaint(**json.loads(call.function.arguments)))

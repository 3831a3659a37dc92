"""An answer as a model of pydantic: the only tool, which the model is made to call, is that model; it is asked for twice."""

import json

from openai import OpenAI, pydantic_function_tool
from pydantic import BaseModel, ValidationError, field_validator


class Invoice(BaseModel):
    number: int
    cents: int

    @field_validator("cents")
    @classmethod
    def is_paid(cls, cents):
        if cents <= 0:
            raise ValueError("an invoice is about more than nothing")
        return cents


def extract(text):
    client, messages = OpenAI(), [{"role": "user", "content": text}]
    while True:
        message = client.chat.completions.create(
            model="gpt-4o",
            messages=messages,
            tools=[pydantic_function_tool(Invoice)],
            tool_choice={"type": "function", "function": {"name": "Invoice"}},
        ).choices[0].message
        messages.append(message)
        (call,) = message.tool_calls
        try:
            return Invoice(**json.loads(call.function.arguments))
        except ValidationError as error:
            told = f"{error.error_count()} errors, try again"
            messages.append({"role": "tool", "tool_call_id": call.id, "content": told})


def book(invoice):
    return f"{invoice.number}: {invoice.cents / 100:.2f}"


print(book(extract("Invoice 7 over 12.50")))

"""Results of many types: a list, a number, None, bytes, an object with a text of its own."""
import json
from dataclasses import dataclass
from openai import OpenAI
from tests.agents.footprint import left

@dataclass
class Money:
    cents: int
    def __str__(self): return f"{self.cents // 100}.{self.cents % 100:02} CHF"

def list_invoices(year):
    left("list_invoices")
    return [(7, "paid"), (8, "open"), (9, f"due {year}")]

def invoice_total(number):
    left("invoice_total")
    return Money(number * 12345)

def count_customers():
    left("count_customers")
    return 4217

def mark_paid(number):
    left("mark_paid")

def logo():
    left("logo")
    return b"\x89PNG logo of the company"

tools = [list_invoices, invoice_total, count_customers, mark_paid, logo]
by_name = {t.__name__: t for t in tools}
def schema(t):
    names = t.__code__.co_varnames[:t.__code__.co_argcount]
    return {"type": "function", "function": {"name": t.__name__, "parameters": {"type": "object",
            "properties": {n: {"type": "integer"} for n in names}, "required": list(names)}}}

client = OpenAI()
history = [{"role": "user", "content": "What is open in 2026? Settle it, and tell me about us."}]
for _ in range(9):
    msg = client.chat.completions.create(model="gpt-4o", messages=history, tools=[*map(schema, tools)]).choices[0].message
    history.append(msg)
    if not msg.tool_calls: break
    for call in msg.tool_calls:
        out = by_name[call.function.name](**json.loads(call.function.arguments))
        history.append({"role": "tool", "tool_call_id": call.id, "content": str(out)})
print(msg.content)

"""Functions with a connection bound by functools.partial."""

import json
import sqlite3
from functools import partial

from openai import OpenAI
from tests.agents.footprint import left


def connect():
    db = sqlite3.connect(":memory:")
    db.execute("CREATE TABLE customers (id INTEGER, name TEXT, city TEXT)")
    db.executemany("INSERT INTO customers VALUES (?, ?, ?)", [(1, "Ada", "London"), (2, "Emmy", "Erlangen")])
    return db


def query_customers(db, city):
    left("query_customers")
    return [
        {"id": id_, "name": name}
        for id_, name in db.execute("SELECT id, name FROM customers WHERE city = ?", [city])
    ]


def rename_customer(db, id, name):
    left("rename_customer")
    changed = db.execute("UPDATE customers SET name = ? WHERE id = ?", [name, id]).rowcount
    return {"changed_rows": changed, "new_name": name}


def main():
    db = connect()
    tools = {
        "query_customers": partial(query_customers, db),
        "rename_customer": partial(rename_customer, db=db),
    }
    specs = [
        ("query_customers", {"city": {"type": "string"}}),
        ("rename_customer", {"id": {"type": "integer"}, "name": {"type": "string"}}),
    ]
    declared = [
        {
            "type": "function",
            "function": {"name": n, "parameters": {"type": "object", "properties": p, "required": list(p)}},
        }
        for n, p in specs
    ]
    client = OpenAI()
    messages = [{"role": "user", "content": "Who lives in Erlangen? Make her name Emmy Noether."}]
    while True:
        msg = (
            client.chat.completions.create(model="gpt-4o", messages=messages, tools=declared)
            .choices[0]
            .message
        )
        messages.append(msg)
        if not msg.tool_calls:
            print(msg.content)
            break
        for c in msg.tool_calls:
            out = tools[c.function.name](**json.loads(c.function.arguments))
            messages.append({"role": "tool", "tool_call_id": c.id, "content": json.dumps(out)})


main()

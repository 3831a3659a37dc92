"""Tools on a database in the working folder."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from openai import OpenAI

from tests.agents.footprint import left

DB = Path("library.db")


def setup():
    DB.unlink(missing_ok=True)
    with closing(sqlite3.connect(DB)) as db, db:
        db.execute("CREATE TABLE loans (book TEXT, reader TEXT)")
        db.execute("INSERT INTO loans VALUES ('Emma', 'Jane')")


def lend(book: str, reader: str) -> dict:
    left("lend")
    with closing(sqlite3.connect(DB)) as db, db:
        taken = db.execute("SELECT reader FROM loans WHERE book = ?", (book,)).fetchone()
        if taken:
            return {"lent": False, "taken_by": taken[0]}
        db.execute("INSERT INTO loans VALUES (?, ?)", (book, reader))
    return {"lent": True, "book": book, "reader": reader}


def loans_of(reader: str) -> list:
    left("loans_of")
    with closing(sqlite3.connect(DB)) as db:
        return [{"book": book} for (book,) in db.execute("SELECT book FROM loans WHERE reader = ?", (reader,))]


TOOLS = {"lend": lend, "loans_of": loans_of}


def spec(f):
    names = [name for name in f.__annotations__ if name != "return"]
    return {"type": "function", "function": {"name": f.__name__, "parameters": {
        "type": "object", "properties": {n: {"type": "string"} for n in names}, "required": names}}}


def main():
    setup()
    client = OpenAI()
    messages = [{"role": "user", "content": "Charlotte wants Emma, or else Persuasion. What has she then?"}]
    while True:
        message = client.chat.completions.create(
            model="gpt-4o", messages=messages, tools=[spec(f) for f in TOOLS.values()]).choices[0].message
        messages.append(message)
        if not message.tool_calls:
            break
        for call in message.tool_calls:
            result = TOOLS[call.function.name](**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)})
    print(message.content)


if __name__ == "__main__":
    main()

"""The parts of the matrix's cases: the case, its edits, and the sources that most of the agents share."""

import contextlib
import json
import os
import pickle
import shelve
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Edit = tuple[str, str, str]
"""A file, the text in it that is replaced, and the text that takes its place."""

VARIANTS = ("right", "wrong_1", "wrong_2", "crash", "unrelated")


@dataclass(frozen=True)
class Plain:
    """A run of the program without autochron: the folder that it left, and its output."""

    folder: str
    out: str
    err: str
    status: int

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def rows(self, database: str, query: str) -> list[tuple[Any, ...]]:
        with contextlib.closing(sqlite3.connect(self.path(database))) as db:
            return db.execute(query).fetchall()

    def value(self, database: str, query: str) -> Any:
        return self.rows(database, query)[0][0]

    def text(self, name: str) -> str:
        if not os.path.exists(self.path(name)):
            return ""
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def json(self, name: str) -> Any:
        return json.loads(self.text(name))

    def pickle(self, name: str) -> Any:
        with open(self.path(name), "rb") as file:
            return pickle.load(file)

    def shelf(self, name: str) -> dict[str, Any]:
        with shelve.open(self.path(name), "r") as shelf:
            return dict(shelf)

    def exists(self, name: str) -> bool:
        return os.path.exists(self.path(name))

    def texts(self, folder: str) -> list[str]:
        """Return the contents of the files in a folder, by name."""
        return [self.text(os.path.join(folder, name)) for name in sorted(os.listdir(self.path(folder)))]


@dataclass(frozen=True)
class Case:
    """A small agent that did harm, and the variants of its code.

    `files` are the project's files, by path. `setup` is a script that creates the state before the run is recorded.
    `harm` returns whether a plain run did the harm. The unchanged code, both wrong fixes and the unrelated edit must do it;
    the right fix and the crash must not. `crash_says` is what the crash prints.
    """

    name: str
    about: str
    files: Mapping[str, str]
    harm: Callable[[Plain], bool]
    right: tuple[Edit, ...]
    wrong_1: tuple[Edit, ...]
    wrong_2: tuple[Edit, ...]
    crash: tuple[Edit, ...]
    crash_says: str
    unrelated: tuple[Edit, ...]
    setup: str = ""
    needs: tuple[str, ...] = field(default=())
    went_wrong: tuple[str, ...] = ()
    """The crossings that a user would leave in the test's check if several tools acted and one went wrong."""

    def edited(self, variant: str) -> dict[str, str]:
        """Return the text of each file that a variant changes. Each replaced text must occur exactly once."""
        changed: dict[str, str] = {}
        for name, old, new in getattr(self, variant):
            text = changed.get(name, self.files[name])
            count = text.count(old)
            if count != 1:
                raise AssertionError(f"{self.name}, {variant}: {name} holds {count} times\n{old}")
            changed[name] = text.replace(old, new)
        return changed


def edit(name: str, *pairs: str) -> tuple[Edit, ...]:
    """Return the edits of one file from pairs of texts, each an old one and its new one."""
    if len(pairs) % 2:
        raise AssertionError(f"an old text without a new one, in {pairs}")
    return tuple((name, old, new) for old, new in zip(pairs[::2], pairs[1::2], strict=True))


def tools(*pairs: str) -> tuple[Edit, ...]:
    """Return the edits of tools.py."""
    return edit("tools.py", *pairs)


MODEL = '''"""The model: it plays a script."""

SCRIPT = [
%s]


def ask(messages):
    """Return the next decision."""
    return SCRIPT[sum(message["role"] == "assistant" for message in messages)]
'''


def model(*calls: tuple[str, dict[str, Any]], say: str = "Done.") -> str:
    """Return the source of a model that asks for tools one after another, and then says something."""
    decisions = [*({"tool": tool, "arguments": arguments} for tool, arguments in calls), {"say": say}]
    return MODEL % "".join(f"    {decision!r},\n" for decision in decisions)


AGENT = '''"""An agent: it asks the model what to do, and does it."""

import json

import model
import tools


def call(name, arguments):
    """Call a tool."""
CALL

def main():
    """Answer one request."""
    messages = [{"role": "user", "content": "TASK"}]
    while "say" not in (reply := model.ask(messages)):
        messages.append({"role": "assistant", "content": json.dumps(reply)})
        result = call(reply["tool"], reply["arguments"])
        print(reply["tool"], "->", result)
        messages.append({"role": "tool", "content": json.dumps(result, default=str)})
    print(reply["say"])


if __name__ == "__main__":
    main()
'''


def agent(task: str, catches: str = "", call: str = "getattr(tools, name)(**arguments)") -> str:
    """Return the source of an agent. An error that it catches (`catches`, such as `Exception`) becomes the tool's result."""
    body = f"    return {call}\n"
    if catches:
        body = (
            f"    try:\n        return {call}\n"
            f'    except {catches} as error:\n        return f"{{type(error).__name__}}: {{error}}"\n'
        )
    return AGENT.replace("CALL\n", body + "\n").replace("TASK", task)


ASYNC_AGENT = '''"""An agent that runs in an event loop: it asks the model what to do, and does it."""

import asyncio
import inspect
import json

import model
import tools


async def call(name, arguments):
    """Call a tool, be it a coroutine function or not."""
    try:
        result = getattr(tools, name)(**arguments)
        return await result if inspect.isawaitable(result) else result
    except Exception as error:
        return f"{type(error).__name__}: {error}"


async def main():
    """Answer one request."""
    messages = [{"role": "user", "content": "TASK"}]
    while "say" not in (reply := model.ask(messages)):
        messages.append({"role": "assistant", "content": json.dumps(reply)})
        result = await call(reply["tool"], reply["arguments"])
        print(reply["tool"], "->", result)
        messages.append({"role": "tool", "content": json.dumps(result, default=str)})
    print(reply["say"])


if __name__ == "__main__":
    asyncio.run(main())
'''


def async_agent(task: str) -> str:
    """Return the source of an agent whose tools may be coroutine functions."""
    return ASYNC_AGENT.replace("TASK", task)


def rules(tool: str = 'define = "tools:*"', name: str = "{__name__}") -> str:
    """Return the rules: one for the model's function, and one for the tools by a selector."""
    return f"""version = 1
packs = []

[[boundary]]
name = "model"
kind = "model"
target = "model:ask"

[[boundary]]
name = "{name}"
kind = "tool"
{tool}
"""


def project(agent: str, tools: str, model: str, rules: str = rules(), **more: str) -> dict[str, str]:
    """Return the files of an agent with one module of tools."""
    return {"agent.py": agent, "tools.py": tools, "model.py": model, "autochron.toml": rules, **more}


def sql(database: str, script: str, *, crashes: bool = False) -> str:
    """Return a script that creates a SQLite database. If it crashes, its writes stay in the write-ahead log."""
    end = "os._exit(0)" if crashes else "db.close()"
    return f"""import os
import sqlite3

db = sqlite3.connect({database!r})
db.executescript({script!r})
{end}
"""

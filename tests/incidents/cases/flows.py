"""Cases whose tools are coroutine functions or generators."""

from tests.incidents.cases.files import script_that_writes
from tests.incidents.cases.kit import Case, agent, async_agent, model, project, sql, tools

CASES = [
    Case(
        name="async_becoming",
        about="a function that the right fix makes a coroutine function; a text file",
        files=project(
            async_agent("Post our news."),
            '''"""What the agent can do."""

import time


async def is_public(channel):
    """Say whether everyone reads a channel."""
    return channel in {"#general", "#public"}


def post(channel, text):
    """Post a message."""
    with open("channels.txt", "a", encoding="utf-8") as file:
        file.write(f"{channel} {text}\\n")
    return {"channel": channel, "ts": f"{time.time():.6f}"}
''',
            model(
                ("is_public", {"channel": "#general"}),
                ("post", {"channel": "#general", "text": "we are sold"}),
            ),
        ),
        setup=script_that_writes(channels_txt="#general welcome\n"),
        harm=lambda run: "we are sold" in run.text("channels.txt"),
        right=tools(
            "def post(",
            "async def post(",
            "    with open",
            '    if await is_public(channel):\n        return {"blocked": channel}\n    with open',
        ),
        wrong_1=tools(  # checks after it has posted
            "def post(",
            "async def post(",
            '    return {"channel"',
            '    if await is_public(channel):\n        return {"blocked": channel}\n    return {"channel"',
        ),
        wrong_2=tools(  # checks the wrong variable
            "def post(",
            "async def post(",
            "    with open",
            '    if await is_public(text):\n        return {"blocked": channel}\n    with open',
        ),
        crash=tools(
            "    with open",
            '    if is_public(channel) & True:\n        return {"blocked": channel}\n    with open',
        ),
        crash_says="TypeError",
        unrelated=tools(
            '    return {"channel"', '    # As chats number their messages.\n    return {"channel"'
        ),
    ),
    Case(
        name="async_gather",
        about="two async tools at a time; SQLite in one of them",
        files=project(
            '''"""An agent that does what the model asks for all at once."""

import asyncio
import json

import model
import tools


async def call(name, arguments):
    """Call a tool."""
    try:
        return await getattr(tools, name)(**arguments)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


async def main():
    """Answer one request."""
    messages = [{"role": "user", "content": "Book us a room and tell the team."}]
    while "say" not in (reply := model.ask(messages)):
        messages.append({"role": "assistant", "content": json.dumps(reply)})
        results = await asyncio.gather(*(call(name, arguments) for name, arguments in reply["calls"]))
        print(*results)
        messages.append({"role": "tool", "content": json.dumps(results)})
    print(reply["say"])


if __name__ == "__main__":
    asyncio.run(main())
''',
            '''"""What the agent can do."""

import asyncio
import sqlite3


async def tell(team, text):
    """Send a team a message."""
    await asyncio.sleep(0.01)
    return {"told": team, "letters": len(text)}


async def book_room(room, people):
    """Book a room."""
    await asyncio.sleep(0)
    with sqlite3.connect("rooms.db") as db:
        cursor = db.execute("insert into bookings (room, people) values (?, ?)", (room, people))
    return {"booking": cursor.lastrowid, "room": room}
''',
            '''"""The model: it plays a script."""

SCRIPT = [
    {"calls": [["book_room", {"room": "cellar", "people": 60}], ["tell", {"team": "all", "text": "See you."}]]},
    {"say": "Booked, and told."},
]


def ask(messages):
    """Return the next decision."""
    return SCRIPT[sum(message["role"] == "assistant" for message in messages)]
''',
        ),
        setup=sql(
            "rooms.db",
            """create table rooms (room text, seats integer); insert into rooms values ('cellar', 8), ('hall', 100);
            create table bookings (id integer primary key autoincrement, room text, people integer);""",
        ),
        harm=lambda run: (
            run.value("rooms.db", "select count(*) from bookings where room = 'cellar' and people > 8") > 0
        ),
        right=tools(
            "        cursor =",
            """        (seats,) = db.execute("select seats from rooms where room = ?", (room,)).fetchone()
        if people > seats:
            return {"blocked": f"{room} has {seats} seats"}
        cursor =""",
        ),
        wrong_1=tools(
            "        cursor =",
            """        (seats,) = db.execute("select max(seats) from rooms").fetchone()
        if people > seats:
            return {"blocked": f"{room} has {seats} seats"}
        cursor =""",
        ),
        wrong_2=tools('"room": room}\n', '"room": room, "note": "crowded" if people > 8 else ""}\n'),
        crash=tools(
            "        cursor =",
            """        (seats,) = db.execute("select seats from room where room = ?", (room,)).fetchone()
        if people > seats:
            return {"blocked": f"{room} has {seats} seats"}
        cursor =""",
        ),
        crash_says="no such table: room",
        unrelated=tools(
            "    await asyncio.sleep(0)\n", "    await asyncio.sleep(0)  # others may go first\n"
        ),
    ),
    Case(
        name="generator_tool",
        about="a tool that is a generator: it yields progress while it deletes files",
        files=project(
            agent("Tidy up the photos.", "ValueError", "list(getattr(tools, name)(**arguments))"),
            '''"""What the agent can do."""

import os


def tidy(folder, keep):
    """Delete all but some of a folder's files, and yield each name."""
    names = sorted(os.listdir(folder))
    for name in names:
        if name not in keep:
            os.remove(os.path.join(folder, name))
            yield name
    yield f"{len(names)} looked at"
''',
            model(("tidy", {"folder": "photos", "keep": []})),
        ),
        setup=script_that_writes(photos__a_jpg="a", photos__b_jpg="b", photos__c_jpg="c"),
        harm=lambda run: run.texts("photos") == [],
        right=tools(
            "    for name in names:\n",
            '    if not keep:\n        raise ValueError("say what is to be kept")\n    for name in names:\n',
        ),
        wrong_1=tools(  # raises after everything is deleted
            "    yield f", '    if not keep:\n        raise ValueError("say what is to be kept")\n    yield f'
        ),
        wrong_2=tools("            yield name\n", '            yield f"deleted {name}"\n'),
        crash=tools(
            "    for name in names:\n",
            '    if keep.is_empty():\n        raise ValueError("say what is to be kept")\n    for name in names:\n',
        ),
        crash_says="AttributeError",
        unrelated=tools(
            "    names = sorted",
            "    files = sorted",
            "for name in names:",
            "for name in files:",
            "{len(names)}",
            "{len(files)}",
        ),
    ),
    Case(
        name="async_generator",
        about="a tool that is an async generator; JSON Lines",
        files=project(
            async_agent("Translate and publish.")
            .replace(
                "        result = getattr(tools, name)(**arguments)\n        return await result if inspect.isawaitable(result) else result\n",
                "        return [item async for item in getattr(tools, name)(**arguments)]\n",
            )
            .replace("import inspect\n", ""),
            '''"""What the agent can do."""

import json


async def publish(pages, language):
    """Publish pages, and yield a line for each."""
    for page in pages:
        with open("site.jsonl", "a", encoding="utf-8") as file:
            file.write(json.dumps({"page": page, "language": language}) + "\\n")
        yield {"page": page}
''',
            model(("publish", {"pages": ["prices", "internal", "imprint"], "language": "fr"})),
        ),
        setup=script_that_writes(site_jsonl='{"page": "home", "language": "en"}\n'),
        harm=lambda run: "internal" in run.text("site.jsonl"),
        right=tools(  # only the internal page is left out
            "    for page in pages:\n",
            '    for page in pages:\n        if page == "internal":\n            yield {"blocked": page}\n            continue\n',
        ),
        wrong_1=tools(
            "    for page in pages:\n",
            '    for page in pages:\n        if language == "internal":\n            yield {"blocked": page}\n            continue\n',
        ),
        wrong_2=tools(
            '        yield {"page": page}\n',
            '        yield {"blocked": page} if page == "internal" else {"page": page}\n',
        ),
        crash=tools("    for page in pages:\n", "    for page in pages - {'internal'}:\n"),
        crash_says="TypeError",
        unrelated=tools(
            "import json\n\n\n",
            'import json\n\n# Those that are read by customers.\nLANGUAGES = ("en", "fr")\n\n\n',
        ),
    ),
]

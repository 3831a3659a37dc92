"""An enforced order of crossings is compared, also if the enforcing library is imported only as the program runs."""

import pytest

from tests.cli.processes import autochron

RULES = 'version = 1\npacks = []\n\n[[boundary]]\nname = "{__name__}"\nkind = "tool"\ndefine = "tools:*"\n'
TOOLS = "def check(n):\n    return n\n\ndef refund(n):\n    return n\n"
HEAD = "import os, threading, time, tools\nFIRST = os.environ.get('WHAT') != 'swapped'\n"

PROGRAMS = {
    "a queue": """
import queue
items = queue.Queue()
def produce():
    if FIRST:
        tools.check(1)
    items.put(1)
    if not FIRST:
        time.sleep(0.1)
        tools.check(1)
thread = threading.Thread(target=produce)
thread.start()
items.get()
tools.refund(1)
thread.join()
""",
    "a queue of asyncio": """
import asyncio
async def main():
    items = asyncio.Queue()
    async def produce():
        if FIRST:
            tools.check(1)
        await items.put(1)
        if not FIRST:
            await asyncio.sleep(0.1)
            tools.check(1)
    task = asyncio.create_task(produce())
    await items.get()
    tools.refund(1)
    await task
asyncio.run(main())
""",
    "a block of a pool": """
from concurrent.futures import ThreadPoolExecutor
if not FIRST:
    tools.refund(1)
with ThreadPoolExecutor(2) as pool:
    pool.submit(tools.check, 1)
if FIRST:
    tools.refund(1)
""",
    "an await": """
import asyncio
async def check():
    tools.check(1)
async def main():
    task = asyncio.create_task(check())
    if FIRST:
        await task
    tools.refund(1)
    await task
asyncio.run(main())
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_order_that_the_program_enforced_is_compared(tmp_path, name):
    (tmp_path / "autochron.toml").write_text(RULES)
    (tmp_path / "tools.py").write_text(TOOLS)
    (tmp_path / "agent.py").write_text(HEAD + PROGRAMS[name])
    recorded = autochron(tmp_path, "run", "agent.py")
    assert recorded.status == 0, recorded.said
    for _ in range(3):
        assert autochron(tmp_path, "replay", "last").said.startswith("autochron: the same")
    swapped = autochron(tmp_path, "replay", "last", env={"WHAT": "swapped"})
    assert swapped.status == 1, swapped.said
    assert "came before" in swapped.said

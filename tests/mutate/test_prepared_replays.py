"""A replay in a fork of a prepared process gives what one in a new interpreter gives."""

import os
import subprocess

import pytest

import autochron
from autochron.mutate.prepared_process import PreparedProcess
from tests.mutate.replays import TOOLS, processes_left, recorded, results

PROGRAMS = {
    "prints": """
import tools
print(tools.look(1), tools.look(2))
""",
    "its surroundings": """
import os, sys, tools
tools.look(1)
print(sys.argv, __name__, __file__, sys.path[0], os.getcwd(), sys.stdin.read())
print(sorted(name for name in os.environ if "AUTOCHRON" in name or "HASHSEED" in name))
print([name for name in ("pytest", "xdist", "unittest") if name in sys.modules])
print(list({"one", "two", "three", "four", "five"}))
print(sys.stdout.isatty(), sys.stdout.line_buffering, sys.flags.hash_randomization)
""",
    "an exit status": """
import sys, tools
print(tools.look(1), file=sys.stderr)
sys.exit(3)
""",
    "an error": """
import tools
raise ValueError(tools.look(1)["number"])
""",
    "an exit at once": """
import os, tools
print(tools.look(1), flush=True)
os._exit(4)
""",
    "what is done at exit": """
import atexit, tools
atexit.register(print, "the end")
print(tools.look(1))
""",
    "a thread": """
import threading, tools
thread = threading.Thread(target=lambda: print(tools.look(1)))
thread.start()
""",
    "a process of its own": """
import os, sys, tools
print(tools.look(1), flush=True)
if os.fork() == 0:
    print(tools.look(2))
    sys.exit(0)
os.wait()
""",
    "a command": """
import subprocess, sys, tools
print(tools.look(1), flush=True)
subprocess.run([sys.executable, "-c", "print('from below')"], check=True)
""",
    "an event loop": """
import asyncio, tools
async def main():
    await asyncio.sleep(0)
    return tools.look(1)
print(asyncio.run(main()))
""",
    "an SDK": """
import httpx, openai, tools
tools.look(1)
print(openai.OpenAI.__name__, httpx.Client.__name__)
""",
    "pickle and multiprocessing": """
import multiprocessing, tools
def work(number):
    return number + 1
if __name__ == "__main__":
    tools.look(1)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(work, [1, 2]))
""",
}


FAST = {"its surroundings", "a process of its own"}


@pytest.mark.parametrize(
    "program",
    [pytest.param(name, marks=() if name in FAST else pytest.mark.thorough) for name in PROGRAMS],
)
@pytest.mark.parametrize("options", [{}, {"live": "kind:tool"}], ids=["served", "live"])
def test_it_gives_what_a_new_interpreter_gives(program, options, tmp_path, prepare):
    seed = recorded(tmp_path, PROGRAMS[program])
    expected = results(tmp_path, **options)
    prepare(seed)
    first, second = results(tmp_path, **options), results(tmp_path, **options)
    if options:  # a live tool reads the clock
        expected, first, second = (
            (status, crossings and [each[:2] for each in crossings], divergences)
            for status, _, _, crossings, divergences in (expected, first, second)
        )
    assert first == expected
    assert second == expected


SLEEPS = """
import os, signal
os.fork()
signal.pause()
"""


def test_one_that_takes_too_long_is_killed_with_all_that_it_has_started(tmp_path, prepare):
    prepared = prepare(recorded(tmp_path, PROGRAMS["prints"]))
    results(tmp_path)
    (tmp_path / "agent.py").write_text(SLEEPS)
    rules = str(tmp_path / "autochron.toml")
    with autochron.replay(str(tmp_path / "trace.jsonl"), check=False, rules=rules) as replay:
        with pytest.raises(subprocess.TimeoutExpired):
            replay.run(timeout=3)
    assert processes_left(prepared, 1) == 1


def test_a_changed_module_of_the_project_is_loaded_anew(tmp_path, prepare):
    seed = recorded(tmp_path, PROGRAMS["prints"])
    prepare(seed)
    results(tmp_path)
    (tmp_path / "tools.py").write_text(TOOLS.replace('"number": number', '"number": number + 40'))
    assert next(each[2] for each in results(tmp_path, live="look[1]")[3]).startswith("{'number': 41,")


def test_another_hash_seed_or_another_command_takes_a_new_interpreter(tmp_path, prepare):
    seed = recorded(tmp_path, PROGRAMS["its surroundings"])
    expected = results(tmp_path)
    prepared = prepare(str(int(seed) + 1))
    assert results(tmp_path) == expected
    prepared.end()
    assert results(tmp_path) == expected


def test_its_folder_and_its_process_are_gone_at_the_end(tmp_path):
    process = PreparedProcess("1")
    folder = os.path.dirname(process.address)
    assert os.listdir(folder) == ["replays"]
    process.end()
    assert not os.path.exists(folder)

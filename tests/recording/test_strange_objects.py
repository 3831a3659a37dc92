"""Recording objects with unusual classes and tasks that fail does not change what the program does."""

from tests.cli import processes

RULES = 'version = 1\npacks = []\n\n[[boundary]]\nname = "{__name__}"\nkind = "tool"\ndefine = "lib:*"\n'

LIB = """
import asyncio

class Unhashable(type):
    def __eq__(cls, other): return cls is other

class Raising(type):
    def __getattr__(cls, name): raise KeyError(name)

class Odd(metaclass=Unhashable): pass
class Odder(metaclass=Raising): pass

def odd(): return Odd()
def odder(): return Odder()
async def fail(): raise ValueError("nobody asks")
def start(): return asyncio.get_running_loop().create_task(fail())
"""

AGENT = """
import asyncio, gc
import lib

print(type(lib.odd()).__name__, type(lib.odder()).__name__)

async def main():
    asyncio.get_running_loop().set_exception_handler(lambda _, context: print(context["message"]))
    task = lib.start()
    await asyncio.sleep(0.01)
    del task
    gc.collect()

asyncio.run(main())
"""


def test_unusual_classes_and_failing_tasks_behave_the_same_under_a_recording(tmp_path):
    processes.write(tmp_path, {"lib.py": LIB, "agent.py": AGENT, "autochron.toml": RULES})
    plain = processes.python(tmp_path, "agent.py")
    recorded = processes.autochron(tmp_path, "run", "--quiet", "agent.py")
    assert plain.text == "Odd Odder\nTask exception was never retrieved\n"
    assert (recorded.status, recorded.text) == (plain.status, plain.text)
    assert "Traceback" not in recorded.said

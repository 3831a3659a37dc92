"""A call is told at the line of project code that it was for, by whatever way it came there."""

import pytest

from tests.detect.running import run

LIBRARY = """
import os, threading, time, uuid, random
STARTED = time.time()
def stamp():
    return time.time()
def key():
    return uuid.uuid4()
def call(function):
    return function()
def read():
    return os.environ.get("PATH"), os.getpid()
def connect():
    import socket
    socket.socket(socket.AF_UNIX).connect("nowhere")
def start(target):
    thread = threading.Thread(target=target)
    thread.start()
    thread.join()
def lazily():
    yield time.time()
"""


def told(folder, program, **files):
    """Run a program whose marked lines (`# → call`) are those that are to be told; give what was and what was to be."""
    folder.mkdir(exist_ok=True)
    found, problems, ended = run(folder, program, **{"site-packages__library": LIBRARY, **files})
    assert (problems, ended.stderr) == ([], "")
    was = sorted((row[1], row[2], row[4]) for row in found)
    marked = []
    for number, line in enumerate(program.splitlines(), start=1):
        _, arrow, calls = line.partition("# → ")
        for call in calls.split(", ") if arrow else ():
            name, _, tier = call.partition(" via ")
            marked.append((number, name, "library" if tier else "direct"))
    return was, sorted(marked)


CASES = {
    "a plain call": "import time\ntime.time()  # → time.time",
    "an imported name": "from time import time as now\nnow()  # → time.time",
    "a name of a class": "import time\nclass A:\n    clock = time.time\nA().clock()  # → time.time",
    "a call by partial": "import time, functools\nfunctools.partial(time.time)()  # → time.time",
    "a call by map": "import time\nlist(map(time.localtime, [None]))  # → time.localtime",
    "a key function": "import random\nsorted([1], key=lambda _: random.random())  # → random.random",
    "a default factory": (
        "import uuid, dataclasses\n@dataclasses.dataclass\nclass A:\n    a: str = dataclasses.field(default_factory=uuid.uuid4)\n"
        "A()  # → uuid.uuid4"
    ),
    "a default dict": "import time, collections\ncollections.defaultdict(time.time)[1]  # → time.time",
    "a generator's line": "import time\ndef g():\n    yield time.time()  # → time.time\nlist(g())",
    "a comprehension": "import time\n[time.time() for _ in range(3)]  # → time.time",
    "code of a string": "exec('import time; time.time()')  # → time.time",
    "the constructor of a model": (
        "import uuid, pydantic\nclass A(pydantic.BaseModel):\n"
        "    a: uuid.UUID = pydantic.Field(default_factory=uuid.uuid4)\nA()  # → uuid.uuid4"
    ),
    "an attribute of attrs": (
        "import time, attrs\n@attrs.define\nclass A:\n    a = attrs.field(factory=time.time)\nA()  # → time.time"
    ),
    "getattr": "import time\ngetattr(time, 'time')()  # → time.time",
    "a subclass": "import datetime\nclass D(datetime.datetime): pass\nD.now()  # → datetime.datetime.now",
    "one call for several": "import datetime\ndatetime.date.today()  # → datetime.date.today",
    "no call for a seed": (
        "import random, time\nrandom.Random(42).random(), time.localtime(0), time.strftime('%Y', time.gmtime(0)), time.gmtime(secs)\n"
    ).replace(", time.gmtime(secs)", ""),
    "no call for SystemRandom": "import random\nr = random.SystemRandom()\nr.choice([1])  # → random.SystemRandom.choice",
    "a file that is only written": "open('out', 'w').close()\nopen('out').close()  # → open",
    "a database in memory": "import sqlite3\nsqlite3.connect(':memory:').close()",
    "folders that are made": "import os, shutil\nos.makedirs('a/b', exist_ok=True)\nshutil.rmtree('a')\nos.path.realpath('x')",
    "a generator beneath a source": "import os\nfor _ in os.walk('.'):  # → os.walk\n    pass",
    "a thread": (
        "import threading, time\nt = threading.Thread(target=time.time)  # → time.time\nt.start()  # → threading.Thread.start\nt.join()"
    ),
    "a timer": (
        "import threading, uuid\nt = threading.Timer(0, uuid.uuid4)  # → uuid.uuid4\nt.start()  # → threading.Thread.start\nt.join()"
    ),
    "a pool": (
        "import time\nfrom concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(1) as pool:\n"
        "    pool.submit(time.time)  # → time.time\n    list(pool.map(time.localtime, [None]))  # → time.localtime"
    ),
    "a callback of a loop": (
        "import asyncio, time, uuid\nasync def main():\n    loop = asyncio.get_running_loop()\n"
        "    loop.call_soon(time.time)  # → time.time\n    loop.call_later(0, uuid.uuid4)  # → uuid.uuid4\n"
        "    await asyncio.sleep(0.01)\nasyncio.run(main())"
    ),
    "a task": (
        "import asyncio, time\nasync def now():\n    time.time()  # → time.time\nasync def main():\n"
        "    await asyncio.gather(now(), asyncio.create_task(now()))\nasyncio.run(main())"
    ),
    "another thread of a loop": (
        "import asyncio, time, uuid\nasync def main():\n    await asyncio.to_thread(time.time)  # → time.time\n"
        "    await asyncio.get_running_loop().run_in_executor(None, uuid.uuid4)  # → uuid.uuid4\nasyncio.run(main())"
    ),
    "a library": "import library\nlibrary.stamp()  # → time.time via library\nlibrary.key()  # → uuid.uuid4 via library",
    "what a library is handed": (
        "import library, time\nlibrary.call(lambda: time.time())  # → time.time\nlibrary.call(time.time)  # → time.time via library"
    ),
    "a library in a thread": (
        "import library, threading\nt = threading.Thread(target=library.stamp)\nt.start()  # → threading.Thread.start, time.time via library\n"
        "t.join()"
    ),
    "a library in a pool": (
        "import library\nfrom concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(1) as pool:\n"
        "    pool.submit(library.stamp)  # → time.time via library"
    ),
    "a library's thread": "import library\nlibrary.start(library.stamp)  # → threading.Thread.start via library",
    "a library's environment": "import library\nlibrary.read()",
    "a library's network": (
        "import library\ntry:\n    library.connect()  # → socket.socket.connect via library\nexcept OSError:\n    pass"
    ),
    "logging": "import logging, sys\nlogging.basicConfig(stream=sys.stdout, format='%(asctime)s')\nlogging.warning('x')",
    "an import within": "def f():\n    import library\nf()",
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.slow
def test_a_call_is_told_at_its_line(case, tmp_path):
    was, marked = told(tmp_path, f"import sys; sys.path.append('site-packages')\n{CASES[case]}\n")
    assert was == marked


@pytest.mark.slow
def test_a_project_s_module_that_is_imported_counts_and_a_library_s_does_not(tmp_path):
    found, _, _ = run(
        tmp_path,
        "import sys; sys.path.append('site-packages')\nimport other, library\n",
        **{"other": "import time\nNOW = time.time()\n", "site-packages__library": LIBRARY},
    )
    assert [row[:3] for row in found] == [["other.py", 2, "time.time"]]


@pytest.mark.slow
def test_the_function_of_a_library_that_the_line_called_is_named(tmp_path):
    found, _, _ = run(
        tmp_path,
        "import sys; sys.path.append('site-packages')\nimport library\nlibrary.call(library.stamp)\n",
        **{"site-packages__library": LIBRARY},
    )
    assert [row[1:6] for row in found] == [[3, "time.time", 1, "library", "library.call"]]


@pytest.mark.slow
def test_what_ran_in_a_boundary_stands_apart_from_what_ran_outside(tmp_path):
    found, _, _ = run(
        tmp_path,
        "import time, inside\nfor number in range(5):\n    inside[0] = number > 2\n    time.time()\ninside[0] = False\n",
    )
    assert sorted((row[1], row[3], row[6]) for row in found) == [(4, 2, "boundary"), (4, 3, None)]

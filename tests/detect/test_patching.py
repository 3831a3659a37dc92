"""What is patched goes on being what it was: identity, type, signature, pickling, subclasses, errors."""

import pytest

from tests.detect.running import run

TRANSPARENT = {
    "isinstance and the type of what is given": (
        "import datetime\nnow = datetime.datetime.now()\n"
        "assert isinstance(now, datetime.datetime) and type(now) is datetime.datetime and type(now.date()) is datetime.date"
    ),
    "pickling of values, types and functions": (
        "import copy, datetime, pickle, time, uuid, random, os\n"
        "for value in (datetime.datetime.now(), uuid.uuid4(), datetime.datetime, time.time, uuid.uuid4, os.urandom):\n"
        "    for protocol in range(6):\n"
        "        assert pickle.loads(pickle.dumps(value, protocol)) == value, value\n"
        "    assert copy.copy(value) == copy.deepcopy(value) == value\n"
        "assert pickle.loads(pickle.dumps(time.time)) is time.time\n"
        "assert pickle.loads(pickle.dumps(datetime.datetime.now)) == datetime.datetime.now\n"
        "assert 0 < pickle.loads(pickle.dumps(random.random))() < 1"
    ),
    "a clock as an attribute of a class": (
        "import time, os, random\nclass A:\n    clock = time.time\n    pid = os.getpid\n    draw = random.randint\n"
        "assert A().clock() > 0 and A.clock() > 0 and A().pid() == os.getpid() and A().draw(1, 1) == 1"
    ),
    "names, documents and modules": (
        "import time, uuid, types, random\n"
        "assert (time.time.__name__, time.time.__qualname__, time.time.__module__) == ('time', 'time', 'time')\n"
        "assert time.time.__self__ is time and 'Epoch' in time.time.__doc__ and repr(time.time) == '<built-in function time>'\n"
        "assert isinstance(time.time, types.BuiltinFunctionType) and type(uuid.uuid4) is types.FunctionType\n"
        "assert isinstance(random.randint, types.MethodType) and random.randint.__self__ is random._inst\n"
        "assert callable(time.time) and time.time in {time.time} and time.time == time.time != time.monotonic"
    ),
    "subclasses": (
        "import datetime, random, subprocess, threading\n"
        "class D(datetime.datetime):\n    pass\n"
        "assert type(D.now()) is D and type(D.utcnow()) is D and type(D.today()) is D\n"
        "class R(random.Random):\n    def random(self):\n        return 0.5\n"
        "assert R().random() == 0.5 and random.Random(1).random() == R(1) .__class__.__mro__[1](1).random()\n"
        "class T(threading.Thread):\n    def run(self):\n        self.ran = True\n"
        "t = T(); t.start(); t.join(); assert t.ran\n"
        "class P(subprocess.Popen):\n    pass\nassert P(['true']).wait() == 0"
    ),
    "pydantic": (
        "import datetime, pydantic, time, uuid\nclass M(pydantic.BaseModel):\n    at: datetime.datetime\n    day: datetime.date\n"
        "    made: float = pydantic.Field(default_factory=time.time)\n    id: uuid.UUID = pydantic.Field(default_factory=uuid.uuid4)\n"
        "m = M(at=datetime.datetime.now(), day=datetime.date.today())\nassert M.model_validate_json(m.model_dump_json()) == m"
    ),
    "kinds of functions": (
        "import asyncio, inspect, os\nassert inspect.iscoroutinefunction(asyncio.wait) and inspect.isgeneratorfunction(os.fwalk)\n"
        "assert asyncio.iscoroutinefunction(asyncio.create_subprocess_exec) and inspect.isfunction(os.walk)"
    ),
    "identities": (
        "import io, builtins, _io, os, posix, asyncio.subprocess, asyncio\n"
        "assert open is io.open is _io.open is builtins.open\n"
        "assert asyncio.create_subprocess_exec is asyncio.subprocess.create_subprocess_exec"
    ),
    "errors without a frame of ours": (
        "import os, pathlib, random, subprocess, time, traceback, uuid\n"
        "def frames(function, *args):\n    try:\n        function(*args)\n    except Exception as error:\n"
        "        return [entry.filename for entry in traceback.extract_tb(error.__traceback__)]\n"
        "for function, *args in ((open, 'no'), (os.stat, 'no'), (os.listdir, 'no'), (pathlib.Path('no').read_text,),\n"
        "        (subprocess.run, ['no']), (time.time, 1), (uuid.uuid4, 1), (random.randint, 'a', 'b'), (os.environ.__getitem__, 'no')):\n"
        "    found = frames(function, *args)\n    assert found and not any('autochron' in file for file in found), (function, found)"
    ),
    "arguments of every kind": (
        "import random, time, datetime\nassert random.sample(population=[1], k=1) == [1] and random.choices([1], weights=[2], k=2) == [1, 1]\n"
        "assert datetime.datetime.now(tz=datetime.timezone.utc).tzinfo is datetime.timezone.utc\n"
        "assert time.localtime(0)[0] in (1969, 1970) and time.strftime('%Y', time.gmtime(0)) == '1970'"
    ),
    "a mock in the place of a source": (
        "import time, unittest.mock\nwith unittest.mock.patch('time.time', return_value=3):\n    assert time.time() == 3\nassert time.time() > 3\n"
        "with unittest.mock.patch('time.time', autospec=True) as fake:\n    fake.return_value = 4\n    assert time.time() == 4"
    ),
    "a tracer": (
        "import sys, time\nseen = []\ndef tracer(frame, event, arg):\n    if frame.f_code.co_filename == __file__:\n        seen.append(event)\n    return tracer\n"
        "def f():\n    time.time()\n    sys.settrace(tracer)\n    g()\n    sys.settrace(None)\n    return time.time()\n"
        "def g():\n    return time.time()\nf()\nassert seen == ['call', 'line', 'return']"
    ),
}


@pytest.mark.parametrize("case", TRANSPARENT)
@pytest.mark.slow
def test_a_program_sees_no_difference(case, tmp_path):
    _, problems, ended = run(tmp_path, TRANSPARENT[case] + "\nprint('end')\n")
    assert (ended.stdout, problems, ended.stderr) == ("end", [], "")


SIGNATURES = """
import inspect, sys
from tests.detect.calls import PRELUDE
exec(PRELUDE)
from autochron.detect.catalogue import SOURCES
from autochron.detect.watch import Watch
def signatures():
    found = {}
    for source in SOURCES:
        for place in source.places:
            module, _, qualname = place.partition(":")
            value = sys.modules.get(module)
            for part in qualname.split("."):
                value = getattr(value, part, None)
            try:
                found[place] = str(inspect.signature(value)) if value is not None else None
            except ValueError:
                found[place] = "none"
            found[place] = (found[place], getattr(value, "__doc__", None), getattr(value, "__name__", None))
            found[place] += (getattr(value, "__text_signature__", None), getattr(value, "__module__", None))
    return found
before = signatures()
watch = Watch(lambda file: False, str, print, lambda: False)
watch.on()
during = signatures()
watch.off()
print([(place, before[place], during[place]) for place in before if before[place] != during[place]], before == signatures())
"""


@pytest.mark.slow
def test_signatures_documents_and_names_are_as_before(tmp_path):
    _, _, ended = run(tmp_path, SIGNATURES, watched=False)
    assert (ended.stdout, ended.stderr) == ("[] True\n", "")

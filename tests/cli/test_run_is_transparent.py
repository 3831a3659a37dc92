"""`autochron run PROGRAM` acts like `python PROGRAM`: the same bytes on both streams, and the same exit status."""

import re
import sys
from typing import NamedTuple

import pytest

from tests.cli.processes import python, write

pytestmark = pytest.mark.usefixtures("samples_as_users_do")

# --- programs ---


class Case(NamedTuple):
    """A program, and how to start it."""

    files: dict
    words: tuple = ("prog.py",)
    flags: tuple = ()
    stdin: bytes = b""
    env: dict = {}
    status: int | None = None


def script(source, *arguments, **more):
    return Case({"prog.py": source}, ("prog.py", *arguments), **more)


HELPER = "def double(x):\n    return 2 * x\n"

FACTS = """
import sys, __main__
for name in ("__name__", "__package__", "__spec__", "__doc__", "__annotations__", "__builtins__"):
    print(name, repr(globals().get(name, "nothing")))
print(__file__, __loader__.__class__, getattr(__loader__, "name", None), getattr(__loader__, "path", None))
print(sorted(globals()))
print(__main__.__dict__ is globals(), sys.modules["__main__"] is __main__, type(__main__), repr(__main__))
print(sys.argv, sys.path, sys.orig_argv[0] == sys.executable)
print(sys.flags, sys.warnoptions, sys._xoptions, sys.dont_write_bytecode)
"""

PACKAGE_FACTS = """
print(__name__, __package__, __file__, __spec__ and (__spec__.name, __spec__.origin, __spec__.parent))
print(sys.argv, sys.path, sorted(globals()), type(__loader__).__name__)
"""

CHAIN = """
class Bad(Exception):
    def __str__(self):
        return "bäd \\U0001f4a5"
def inner(n):
    if n:
        inner(n - 1)
    else:
        {}["key"]
def outer():
    try:
        inner(2)
    except KeyError as error:
        error.add_note("a note")
        raise Bad from error
print("before")
outer()
"""

# Functions that a watch patches: called with wrong arguments, and inspected.
WATCHED_ERRORS = """
import concurrent.futures, datetime, email.utils, os, pathlib, random, secrets, socket, tempfile, time, traceback, uuid
class Zone(datetime.tzinfo):
    def fromutc(self, dt):
        1 / 0
def calls():
    now = datetime.datetime.now
    yield from ((now, 3), (now, Zone()), (now, 1, 2, 3), (datetime.datetime.utcnow, 1), (datetime.date.today, 1))
    for clock in (time.localtime, time.gmtime, time.ctime, time.asctime, time.strftime, time.clock_gettime, time.time):
        yield from ((clock, "x"), (clock, 1, 2, 3), (clock, 1e300))
    yield from ((random.randint, "a", "b"), (random.choice, []), (random.Random, []), (random.seed, [1]))
    yield from ((random.sample, [1], 5), (os.urandom, -1), (os.stat, "/no"), (os.listdir, "/no"), (os.readlink, "/no"))
    yield from ((os.getenv, 3), (os.getpgid, "x"), (os.environ.__getitem__, "NO"), (open, "/no"), (uuid.uuid4, 1))
    yield from ((uuid.uuid1, "x"), (subprocess.run, ["/no"]), (subprocess.Popen, ["/no"]), (socket.gethostbyname, 3))
    yield from ((concurrent.futures.wait, 3), (secrets.token_hex, "x"), (tempfile.mkdtemp, "", "", 3))
    yield from ((pathlib.Path("/no").read_text,), (email.utils.formatdate, "x"), (os.getcwd, 1))
    yield from ((getattr, time.time, "no"), (getattr, datetime.datetime.now, "no"), (setattr, time.time, "no", 1))
for function, *arguments in calls():
    try:
        function(*arguments)
    except Exception:
        traceback.print_exc()
try:
    raise KeyError("outer")
except KeyError:
    time.localtime("x")
"""

WATCHED_FACTS = """
import copy, datetime, functools, inspect, os, pickle, pydoc, random, sys, time, types, typing, uuid
from unittest import mock
for source in (time.time, time.localtime, time.strftime, os.getpid, os.stat, random.random, random.choice, random.randint,
               uuid.uuid4, datetime.datetime.now, datetime.date.today, datetime.datetime.utcnow, os.urandom, os.walk):
    print(source, source.__name__, source.__qualname__, source.__module__, source.__doc__, source.__class__, dir(source))
    print(inspect.isbuiltin(source), inspect.isroutine(source), inspect.ismethod(source), inspect.isfunction(source))
    print(hasattr(source, "__wrapped__"), inspect.unwrap(source) is source, typing.get_type_hints(source), callable(source))
    for kind in (types.BuiltinFunctionType, types.MethodType, types.FunctionType, typing.Callable):
        print(isinstance(source, kind))
    try:
        print(inspect.signature(source))
    except ValueError as error:
        print(error)
    print(source == source, source != 3, source == copy.copy(source) == copy.deepcopy(source), source in {source: 1})
    print(pickle.loads(pickle.dumps(source)).__name__, functools.wraps(source)(lambda: 1).__name__, pydoc.render_doc(source))
    print(type(source).__name__, functools.partial(source), inspect.getdoc(source), inspect.getmodule(source))
    for wrong in ("source < 3", "source[0]", "source + 1", "len(source)", "source.no", "del source.no", "source.__func__"):
        try:
            print(eval(wrong))
        except Exception as error:
            print(type(error), error)
print(inspect.getmembers(time), inspect.getmembers(datetime.datetime, inspect.isroutine))
print(inspect.getattr_static(datetime.datetime, "now"), datetime.datetime.now.__self__, inspect.getsource(uuid.uuid4))
class Later(datetime.datetime):
    pass
print(Later.now, type(Later.now()), type(super(Later, Later).now()), type(Later.now().today()), Later(2020, 1, 1).now)
for name in ("time.time", "time.localtime", "random.choice", "datetime.date", "os.getpid"):
    with mock.patch(name, autospec=True) as fake:
        print(eval(name) is fake, fake.__class__)
    print(eval(name))
class Holder:
    clock, local, now = time.time, time.localtime, datetime.datetime.now
print(Holder().clock() > 1, Holder().local().tm_year > 2000, Holder().now().year > 2000, sys.gettrace())
"""

SCRIPTS = {
    # Functions that a watch patches.
    "watched errors": script(WATCHED_ERRORS, status=1),
    "watched facts": script(WATCHED_FACTS),
    # Exit statuses.
    "ends": script("print('done')"),
    "empty": script(""),
    "exit int": script("import sys; print('x'); sys.exit(3)", status=3),
    "exit large": script("import sys; sys.exit(259)"),
    "exit huge": script("import sys; sys.exit(2**70)"),
    "exit negative": script("import sys; sys.exit(-1)", status=255),
    "exit minus two": script("import sys; sys.exit(-2)", status=254),
    "exit str": script("import sys; print('out'); sys.exit('said ü at the end')", status=1),
    "exit none": script("import sys; sys.exit(None)", status=0),
    "exit true": script("import sys; sys.exit(True)", status=1),
    "exit object": script("import sys; sys.exit({'a': 1})", status=1),
    "exit tuple": script("import sys; sys.exit((1, 2))", status=1),
    "exit, int subclass": script("import sys\nclass N(int): pass\nsys.exit(N(4))", status=4),
    "exit, its str fails": script(
        "import sys\nclass N:\n    def __str__(self): raise ValueError('no')\nsys.exit(N())", status=1
    ),
    "exit by raise SystemExit": script("raise SystemExit", status=0),
    "exit by subclass": script("class E(SystemExit): pass\nraise E(5)", status=5),
    "exit and no stderr": script("import sys\nsys.stderr = None\nsys.exit('nobody hears')", status=1),
    "exit while stdout waits": script("import sys; sys.stdout.write('no newline'); sys.exit('end')"),
    "quit()": script("quit(7)", status=7),
    # Tracebacks.
    "raises": script("def f():\n    return 1 / 0\n\nprint('x')\nf()\n", status=1),
    "raises a chain": script(CHAIN, status=1),
    "raises a group": script(
        "def f():\n    raise ExceptionGroup('many', [ValueError(1), ExceptionGroup('in', [KeyError('k')])])\nf()"
    ),
    "raises, its str fails": script("class E(Exception):\n    def __str__(self): raise ValueError\nraise E()"),
    "raises in a lambda on one line": script("f = lambda x: x.y.z\nf(1)"),
    "raises from an import": Case({"prog.py": "import helper\n", "helper.py": "x = 1\nraise OSError('no')\n"}),
    "raises in import machinery": script("import nowhere.to_be_found\n", status=1),
    "raises name error with suggestion": script("flavour = 1\nprint(flavor)\n"),
    "raises attribute error with suggestion": script("import collections\ncollections.OrderDic\n"),
    "raises import error with suggestion": script("from collections import OrderDic\n"),
    "raises a base exception": script("class B(BaseException): pass\nraise B('base')", status=1),
    "raises GeneratorExit": script("raise GeneratorExit", status=1),
    "raises by recursion": script(
        "import sys\nsys.setrecursionlimit(200)\ndef f(n):\n    return f(n + 1)\nf(0)", status=1
    ),
    "keyboard interrupt": script("print('x')\nraise KeyboardInterrupt", status=-2),
    "keyboard interrupt, deep": script("def f():\n    raise KeyboardInterrupt('why')\nf()", status=-2),
    "keyboard interrupt, and objects left": script(
        "class C:\n    def __del__(self):\n        print('del', flush=True)\nc = C()\nraise KeyboardInterrupt"
    ),
    "keyboard interrupt in atexit": script("import atexit\n@atexit.register\ndef f():\n    raise KeyboardInterrupt\n"),
    "keyboard interrupt subclass": script("class K(KeyboardInterrupt): pass\nraise K"),
    "syntax error": script("print('never')\ndef f(:\n    pass\n", status=1),
    "syntax error, indentation": script("def f():\nreturn 1\n", status=1),
    "syntax error, tabs": script("if 1:\n        x = 1\n\ty = 2\n", status=1),
    "syntax error, in an import": Case({"prog.py": "import helper\n", "helper.py": "x = = 1\n"}, status=1),
    "syntax error, encoding": Case({"prog.py": b"print('\xff')\n"}, status=1),
    "syntax error, unknown coding": Case({"prog.py": b"# coding: klingon\nprint(1)\n"}, status=1),
    "syntax error, null byte": Case({"prog.py": b"print(1)\0\n"}, status=1),
    "syntax warning": script("x = 1\nprint(x is 1)\n"),
    "source in latin-1": Case({"prog.py": b"# coding: latin-1\nprint(ascii('\xe9'))\n"}),
    "source with BOM and CRLF": Case({"prog.py": b"\xef\xbb\xbfprint('bom')\r\nprint(1/0)\r\n"}),
    "excepthook of the program": script(
        "import sys\ndef hook(kind, error, tb):\n"
        "    print('hook', kind, error, tb.tb_lineno, tb.tb_frame.f_code.co_name, tb.tb_next)\n"
        "sys.excepthook = hook\nraise ValueError('v')",
        status=1,
    ),
    "excepthook that fails": script(
        "import sys\ndef hook(*a):\n    raise OSError('in hook')\nsys.excepthook = hook\nraise ValueError('v')"
    ),
    "excepthook that exits": script(
        "import sys\ndef hook(*a):\n    sys.exit(9)\nsys.excepthook = hook\nraise ValueError('v')"
    ),
    "excepthook deleted": script("import sys\ndel sys.excepthook\nraise ValueError('v')"),
    "excepthook none": script("import sys\nsys.excepthook = None\nraise ValueError('v')"),
    "last exception is kept for atexit": script(
        "import atexit, sys\n"
        "atexit.register(lambda: print(sys.last_type, sys.last_value, sys.last_traceback.tb_lineno))\n"
        "1/0"
    ),
    "raises in a thread": script(
        "import threading\ndef work():\n    raise ValueError('in thread')\n"
        "t = threading.Thread(target=work, name='w')\nt.start()\nt.join()\nprint('went on')",
        status=0,
    ),
    "exits in a thread": script(
        "import sys, threading\nt = threading.Thread(target=lambda: sys.exit(3))\nt.start()\nt.join()\nprint(1)"
    ),
    "raises in atexit": script(
        "import atexit\n@atexit.register\ndef end():\n    raise ValueError('at exit')\nprint('x')"
    ),
    "exits in atexit": script("import atexit, sys\natexit.register(lambda: sys.exit(5))\nprint('x')"),
    "raises in __del__": script(
        "class C:\n    def __del__(self):\n        raise ValueError('in del')\nc = C()\ndel c\nprint('went on')"
    ),
    "raises in __del__ at the end": script(
        "class C:\n    def __del__(self):\n        raise ValueError('in del')\nc = C()\nprint('went on')"
    ),
    "unraisablehook": script(
        "import sys\nsys.unraisablehook = lambda u: print('hook', u.exc_type, u.err_msg)\n"
        "class C:\n    def __del__(self):\n        1/0\nC()"
    ),
    "traceback limit": script("import sys\nsys.tracebacklimit = 1\ndef f(): 1/0\ndef g(): f()\ng()"),
    "traceback printed by hand": script(
        "import traceback\ntry:\n    1/0\nexcept ZeroDivisionError:\n    traceback.print_exc()\n"
        "traceback.print_stack()\n"
    ),
    "frames": script(
        "import sys, inspect\nframe = sys._getframe()\n"
        "print(frame.f_code.co_name, frame.f_lineno, frame.f_globals is globals())\n"
        "def f():\n    return [x.function for x in inspect.stack()][:2]\nprint(f())\nprint(inspect.getsource(f))"
    ),
    "outermost frame": script("import sys\nprint(sys._getframe().f_back)"),
    # The module `__main__`.
    "facts": script(FACTS, "a", "--b", "-c=1", ""),
    "facts, isolated": script(FACTS, flags=("-s", "-B")),
    "facts, safe path": script(FACTS, flags=("-P",)),
    "facts, optimised": script(FACTS + "\nassert False\nprint(__debug__)", flags=("-OO",)),
    "facts, in a subfolder": Case(
        {"sub/prog.py": FACTS + "import beside\n", "sub/beside.py": "print(__name__, __file__)"}, ("sub/prog.py",)
    ),
    "facts, no suffix": Case({"prog": FACTS}, ("prog", "--quiet", "--", "-m")),
    "facts, dotted path": Case({"prog.py": FACTS}, ("./prog.py",)),
    "docstring and annotations": script('"""Doc."""\nx: int = 1\nprint(__doc__, __annotations__)'),
    "future annotations do not leak": script("def f(x: undefined_name): pass\n", status=1),
    "imports itself": script(
        "import prog\nprint(__name__, prog is not __import__('__main__'))\nif __name__ == '__main__': print('once')"
    ),
    "imports a neighbour": Case({"prog.py": "import helper\nprint(helper.double(4), helper.__file__)", "helper.py": HELPER}),
    "named as a library's module": Case({"json.py": "import sys\nprint(__name__)"}, ("json.py",)),
    "beside a library's module": Case(
        {"prog.py": "print('x')", **{f"{name}.py": "1/0" for name in ("json", "msgspec", "sqlite3", "queue", "tomli")}}
    ),
    "shadows a library's module": Case({"prog.py": "import json\nprint(json.mine)", "json.py": "mine = 1"}),
    "argv is the program's to change": script("import sys\nsys.argv[:] = ['changed']\nprint(sys.argv)", "a"),
    "globals at the end": script(
        "class C:\n    def __del__(self):\n        print('del', __name__, marker)\nmarker = 'here'\nc = C()"
    ),
    "dataclass and pickle": script(
        "import pickle, dataclasses, enum\n"
        "@dataclasses.dataclass\nclass Quote:\n    x: 'int' = 3\n"
        "class Colour(enum.Enum):\n    RED = 1\n"
        "back = pickle.loads(pickle.dumps([Quote(1), Colour.RED, Quote]))\nprint(back, Quote.__module__)\n"
        "print(dataclasses.fields(Quote), pickle.dumps(Quote(2)))"
    ),
    "type hints": script("import typing\nclass A:\n    x: 'B'\nclass B: pass\nprint(typing.get_type_hints(A))"),
    "doctest": script("'''\n>>> 1 + 1\n3\n'''\nimport doctest\nprint(doctest.testmod())"),
    "unittest": script(
        "import unittest\nclass T(unittest.TestCase):\n    def test(self):\n        self.assertEqual(len('ab'), 2)\n"
        "if __name__ == '__main__':\n    import io, sys\n"
        "    unittest.main(testRunner=unittest.TextTestRunner(io.StringIO()))"
    ),
    "argparse": script(
        "import argparse\np = argparse.ArgumentParser()\np.add_argument('--n', type=int)\nprint(p.parse_args())",
        "--n",
        "x",
        status=2,
    ),
    "warnings": script("import warnings\ndef f():\n    warnings.warn('careful', stacklevel=1)\nf()\nf()"),
    "deprecation in main": script("import warnings\nwarnings.warn('old', DeprecationWarning)"),
    "warnings, one level too far": script("import warnings\nwarnings.warn('careful', stacklevel=2)"),
    "warnings as errors": script("import warnings\nwarnings.warn('careful')", flags=("-W", "error"), status=1),
    "dev mode": script("open(__file__)\nprint('left open')", flags=("-X", "dev")),
    "dev mode, fine": script("import asyncio\nasync def f(): print('x')\nasyncio.run(f())", flags=("-X", "dev")),
    "bytes warnings": script("print(b'a' == 'a')", flags=("-bb",), status=1),
    "default encoding warnings": script("print('x')", flags=("-X", "warn_default_encoding", "-W", "error")),
    "utf8 mode off": script("print('x')", flags=("-X", "utf8=0"), env={"LC_ALL": "C"}),
    "import time": script("print('x')", flags=("-X", "no_debug_ranges")),
    "no site": script("import sys\nprint('site' in sys.modules)", flags=("-S",)),
    # Streams.
    "stdin by input": script("print(input('ask: ')[::-1]); print(input())", stdin=b"abc\r\nd\xc3\xa9f"),
    "stdin whole": script("import sys\nprint(repr(sys.stdin.read()))", stdin=b"1\n2\r\n3\r4"),
    "stdin lines": script("import sys\nfor line in sys.stdin: print(repr(line))", stdin=b"1\n2\r\n3\r4"),
    "stdin binary": script("import sys\nprint(sys.stdin.buffer.read())", stdin=bytes(range(256))),
    "stdin by parts": script(
        "import sys\nprint(sys.stdin.buffer.read(2), sys.stdin.buffer.readline(), sys.stdin.buffer.read1(3))\n"
        "print(sys.stdin.buffer.peek(1)[:1], sys.stdin.readline())",
        stdin=b"abcdef\nxyz-\nlast\n",
    ),
    "stdin by descriptor": script("import os\nprint(os.read(0, 3)); print(os.read(0, 9))", stdin=b"abcdef"),
    "stdin bad utf-8": script("import sys\nprint(ascii(sys.stdin.read()))", stdin=b"\xff\xfe", status=None),
    "stdin ended": script("input()", status=1),
    "stdin for a child": script(
        "import subprocess, sys\nsys.stdout.flush()\nprint(subprocess.run(['cat'], stdout=-1).stdout)", stdin=b"for cat"
    ),
    "stdin: fileinput": script("import fileinput\nfor line in fileinput.input(): print(repr(line))", stdin=b"a\nb"),
    "stdout binary": script("import sys\nsys.stdout.buffer.write(bytes(range(256)))"),
    "stdout mixed": script(
        "import sys, os\nprint('a', end='')\nsys.stdout.flush()\nsys.stdout.buffer.write(b'b')\n"
        "sys.stdout.buffer.flush()\nos.write(1, b'c')\nprint('d')"
    ),
    "stdout large": script("for n in range(30000): print('line', n)"),
    "stdout carriage returns": script("print('a\\r\\nb\\rc', end='\\r\\n')"),
    "stdout surrogates": script("print('\\udcff')"),
    "stdout other encoding": script("print('é', 'ü')", env={"PYTHONIOENCODING": "latin-1"}),
    "stdout other errors": script("print('\\u20ac')", env={"PYTHONIOENCODING": "ascii:backslashreplace"}),
    "stdout facts": script(
        "import sys\nfor s in (sys.stdin, sys.stdout, sys.stderr):\n"
        "    print(s.name, s.mode, s.encoding, s.errors, s.newlines, s.line_buffering, s.write_through, s.isatty(),\n"
        "          s.fileno(), s.closed, type(s).__name__, s.buffer.name, s.buffer.mode, s.buffer.raw.name,\n"
        "          s.buffer.raw.mode, s.readable(), s.writable(), s.seekable())\n"
        "print(sys.stdout is sys.__stdout__, sys.stdin is sys.__stdin__, repr(sys.stdout), repr(sys.stdin))"
    ),
    "stdout types": script("import sys\nprint(type(sys.stdout.buffer), type(sys.stdout.buffer.raw))"),
    "stdout closes the descriptor": script("import sys\nprint(sys.stdout.buffer.raw.closefd)"),
    "stdout reconfigured": script(
        "import sys\nsys.stdout.reconfigure(encoding='utf-16', line_buffering=True, newline='\\r\\n')\nprint('x\\ny')"
    ),
    "stdout detached": script(
        "import io, sys\nsys.stdout = io.TextIOWrapper(sys.stdout.detach(), encoding='utf-8')\nprint('again')"
    ),
    "stdout unbuffered": script(
        "import sys, os\nsys.stdout.write('a'); os.write(1, b'b'); print('c', end=''); os.write(1, b'd')",
        flags=("-u",),
    ),
    "stdout unbuffered facts": script(
        "import sys\nprint(type(sys.stdout.buffer).__mro__[-4].__name__, sys.stdout.write_through, "
        "sys.stdout.line_buffering, sys.stdout.buffer.name)",
        flags=("-u",),
    ),
    "stdout replaced": script("import io, sys\nsys.stdout = io.StringIO()\nprint('kept')\nsys.__stdout__.write('out')"),
    "stdout redirected": script(
        "import contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()) as f:\n    print('in')\n"
        "print(repr(f.getvalue()))"
    ),
    "stdout none": script("import sys\nsys.stdout = None\nprint('nowhere')"),
    "stdout none, then raises": script("import sys\nsys.stdout = None\n1/0"),
    "stderr none, then raises": script("import sys\nsys.stderr = None\n1/0"),
    "stdout closed": script("import sys\nprint('a')\nsys.stdout.close()\n"),
    "stdout closed, then printed to": script("import sys\nsys.stdout.close()\nprint('x')", status=1),
    "stdout descriptor closed": script("import os\nprint('lost')\nos.close(1)"),
    "stdin closed": script("import sys\nsys.stdin.close()\ninput()"),
    "stdout redirected by dup2": Case(
        {"prog.py": "import os, sys\nprint('first')\nsys.stdout.flush()\nf = os.open('out', os.O_WRONLY | os.O_CREAT)\n"
         "os.dup2(f, 1)\nprint('second')\nsys.stdout.flush()\nsys.stderr.write(open('out').read())\nos.unlink('out')"}
    ),
    "stdout of a child": script(
        "import subprocess, sys\nprint('a')\nsys.stdout.flush()\nsubprocess.run([sys.executable, '-c', 'print(\"b\")'])"
        "\nprint('c')"
    ),
    "print that fails halfway": script(
        "import sys\nclass F:\n    def write(self, x): raise OSError('full')\n    def flush(self): pass\n"
        "sys.stdout = F()\nprint('x')"
    ),
    "stdout whose flush fails at the end": script(
        "import sys\nclass F:\n    def write(self, x): pass\n    def flush(self): raise OSError('full')\nsys.stdout = F()"
    ),
    "logging": script("import logging\nlogging.basicConfig()\nlogging.warning('w')\nlogging.getLogger('x').error('e')"),
    "stderr unbuffered": script("import sys\nsys.stderr.write('a'); sys.stdout.write('b')"),
    "faulthandler": script("import faulthandler, sys\nprint(faulthandler.is_enabled())\nfaulthandler.enable()\n"),
    # Programs that end with threads, exit functions or children.
    "atexit order": script(
        "import atexit\nfor n in range(3): atexit.register(print, 'exit', n)\nprint('end')"
    ),
    "atexit and threads": script(
        "import atexit, threading, time\natexit.register(print, 'exit')\n"
        "def work():\n    time.sleep(0.2); print('thread done')\nthreading.Thread(target=work).start()\nprint('main done')"
    ),
    "thread registers atexit": script(
        "import atexit, threading, time\ndef work():\n    time.sleep(0.1)\n    atexit.register(print, 'late')\n"
        "threading.Thread(target=work).start()"
    ),
    "daemon thread": script(
        "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\nprint('x')"
    ),
    "raises while a thread runs": script(
        "import threading, time\nthreading.Thread(target=lambda: (time.sleep(0.2), print('late'))).start()\n1/0"
    ),
    "pool at exit": script(
        "import concurrent.futures as c\npool = c.ThreadPoolExecutor()\nfor n in range(3): pool.submit(print, 'n')\n"
    ),
    "atexit unregister": script(
        "import atexit\natexit.register(print, 1)\natexit.unregister(print)\natexit.register(print, 2)"
    ),
    "atexit cleared": script("import atexit\natexit.register(print, 1)\natexit._clear()"),
    "atexit count": script("import atexit\nprint(atexit._ncallbacks() - atexit._ncallbacks())"),
    "weakref finalize": script("import weakref\nclass C: pass\nc = C()\nweakref.finalize(c, print, 'finalized')"),
    "os._exit": script("import os, sys\nprint('lost')\nsys.stderr.write('kept')\nos._exit(6)", status=6),
    "os._exit in a thread": script(
        "import os, threading, time\nthreading.Thread(target=lambda: os._exit(4)).start()\ntime.sleep(30)", status=4
    ),
    "os.abort": script("import os, resource\nresource.setrlimit(resource.RLIMIT_CORE, (0, 0))\nos.abort()", status=-6),
    "exec": script("import os, sys\nprint('x', flush=True)\nos.execv(sys.executable, [sys.executable, '-c', 'print(9)'])"),
    "exec nothing": script("import os\nos.execv('/nowhere/at/all', ['x'])", status=1),
    "fork": script(
        "import os, sys\nprint('both', flush=True)\npid = os.fork()\nif pid == 0:\n    print('child')\n    sys.exit(3)\n"
        "print(os.waitpid(pid, 0)[1] >> 8)"
    ),
    "fork, child raises": script(
        "import os, sys\npid = os.fork()\nif pid == 0:\n    1/0\nprint(os.waitpid(pid, 0)[1] >> 8)"
    ),
    "fork, atexit in both": script(
        "import atexit, os, sys\natexit.register(lambda: print('exit', flush=True))\npid = os.fork()\n"
        "if pid:\n    os.waitpid(pid, 0)\n"
    ),
    "asyncio": script(
        "import asyncio\nasync def f(n):\n    await asyncio.sleep(0.01 * n)\n    return n\n"
        "async def main():\n    print(await asyncio.gather(*map(f, range(3))))\nasyncio.run(main())"
    ),
    "asyncio, exception never retrieved": script(
        "import asyncio\nasync def f(): 1/0\nasync def main():\n    t = asyncio.create_task(f(), name='t')\n"
        "    await asyncio.sleep(0.01)\nasyncio.run(main())"
    ),
    "asyncio, interrupted": script(
        "import asyncio, os, signal\nasync def main():\n    os.kill(os.getpid(), signal.SIGINT)\n    await asyncio.sleep(5)\n"
        "try:\n    asyncio.run(main())\nexcept KeyboardInterrupt:\n    print('caught')"
    ),
    # Signals that the program sends itself.
    "SIGTERM": script(
        "import os, signal, time\nprint('x', flush=True)\nos.kill(os.getpid(), signal.SIGTERM)\ntime.sleep(9)", status=-15
    ),
    "SIGHUP": script("import os, signal\nos.kill(os.getpid(), signal.SIGHUP)\nimport time\ntime.sleep(9)", status=-1),
    "SIGINT": script("import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(9)", status=-2),
    "SIGKILL": script("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", status=-9),
    "SIGPIPE": script("import signal\nprint(signal.getsignal(signal.SIGPIPE))"),
    "raise_signal": script("import signal\nsignal.raise_signal(signal.SIGTERM)\nprint('never')", status=-15),
    "getsignal": script(
        "import signal\nfor s in sorted(signal.valid_signals()):\n    print(s, signal.getsignal(s))"
    ),
    "own handler": script(
        "import os, signal\nprint(signal.signal(signal.SIGTERM, lambda n, f: print('got', n, f.f_code.co_name)))\n"
        "os.kill(os.getpid(), signal.SIGTERM)\nprint(signal.signal(signal.SIGTERM, signal.SIG_DFL).__name__)\n"
        "print(signal.getsignal(signal.SIGTERM))\nos.kill(os.getpid(), signal.SIGTERM)",
        status=-15,
    ),
    "handler that exits": script(
        "import os, signal, sys\nsignal.signal(signal.SIGTERM, lambda *a: sys.exit(11))\nos.kill(os.getpid(), 15)\n"
        "import time\ntime.sleep(9)",
        status=11,
    ),
    "ignored": script(
        "import os, signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nos.kill(os.getpid(), 15)\nprint('on')"
    ),
    "handlers given back": script(
        "import signal\nold = signal.getsignal(signal.SIGTERM)\nsignal.signal(signal.SIGTERM, print)\n"
        "signal.signal(signal.SIGTERM, old)\nprint(signal.getsignal(signal.SIGTERM), old)\nsignal.raise_signal(15)"
    ),
    "signal errors": script(
        "import signal\nfor a in ((99, print), (9, print), ('x', print), (15, 'x')):\n"
        "    try:\n        signal.signal(*a)\n    except Exception as e:\n        print(type(e), e)"
    ),
    "signal traceback": script("import signal\nsignal.signal(9, print)\n"),
    "signal facts": script(
        "import signal, os\nprint(signal.signal.__name__, signal.getsignal.__module__, os._exit.__name__)\n"
        "print(signal.default_int_handler is signal.getsignal(signal.SIGINT), signal.siginterrupt(15, False))"
    ),
    "signal in a thread": script(
        "import signal, threading\ndef f():\n    try: signal.signal(15, print)\n    except ValueError as e: print(e)\n"
        "t = threading.Thread(target=f); t.start(); t.join()"
    ),
    "SIGALRM": script("import signal, time\nsignal.alarm(1)\ntime.sleep(9)", status=-14),
    "sigpending and masks": script("import signal\nprint(signal.pthread_sigmask(signal.SIG_BLOCK, []))"),
    # Children of multiprocessing.
    **{
        f"multiprocessing {method}": script(
            f"import multiprocessing as m\nclass P:\n    def __init__(s, n): s.n = n\n"
            f"def work(p):\n    return p.n * 2, __name__ in ('__main__', '__mp_main__'), P.__module__\n"
            f"if __name__ == '__main__':\n    m.set_start_method('{method}')\n    with m.Pool(2) as pool:\n"
            f"        print(pool.map(work, [P(1), P(2)]))\n        pool.close(); pool.join()\n"
        )
        for method in ("fork", "spawn", "forkserver")
    },
    "multiprocessing, child fails": script(
        "import multiprocessing as m\ndef work():\n    raise ValueError('in child')\n"
        "if __name__ == '__main__':\n    p = m.get_context('spawn').Process(target=work)\n    p.start(); p.join()\n"
        "    print(p.exitcode)"
    ),
    "process pool": script(
        "from concurrent.futures import ProcessPoolExecutor\ndef f(x): return x + 1\n"
        "if __name__ == '__main__':\n    with ProcessPoolExecutor(2) as pool: print(list(pool.map(f, [1, 2])))"
    ),
    # Other ways to start.
    "-m package": Case(
        {"pkg/__init__.py": "print('init', __name__)", "pkg/__main__.py": PACKAGE_FACTS + "from . import other",
         "pkg/other.py": "print('other', __name__)"},
        ("-m", "pkg", "a", "-b"),
    ),
    "-m package.module": Case(
        {"pkg/__init__.py": "", "pkg/mod.py": PACKAGE_FACTS + "from .other import x\nprint(x)", "pkg/other.py": "x = 1"},
        ("-m", "pkg.mod", "--x"),
    ),
    "-m module": Case({"mod.py": PACKAGE_FACTS}, ("-m", "mod")),
    "-m module that raises": Case({"mod.py": "def f():\n    1/0\nf()"}, ("-m", "mod"), status=1),
    "-m module that exits": Case({"mod.py": "import sys; sys.exit('so')"}, ("-m", "mod"), status=1),
    "-m module with a syntax error": Case({"mod.py": "x = = 1"}, ("-m", "mod"), status=1),
    "-m namespace package": Case({"ns/mod.py": PACKAGE_FACTS}, ("-m", "ns.mod")),
    "-m nothing": Case({}, ("-m", "nothing_like_it"), status=1),
    "-m package without main": Case({"pkg/__init__.py": ""}, ("-m", "pkg"), status=1),
    "-m nothing in a package": Case({"pkg/__init__.py": ""}, ("-m", "pkg.mod"), status=1),
    "-m package whose init fails": Case({"pkg/__init__.py": "1/0", "pkg/mod.py": ""}, ("-m", "pkg.mod"), status=1),
    "-m standard library": Case({}, ("-m", "json.tool", "--compact"), stdin=b'{"a": [1, 2]}'),
    "-m with spawn": Case(
        {"pkg/__init__.py": "", "pkg/mod.py": "import multiprocessing as m\ndef f(x): return x, __name__\n"
         "if __name__ == '__main__':\n    with m.get_context('spawn').Pool(1) as p: print(p.map(f, [1]))"},
        ("-m", "pkg.mod"),
    ),
    "folder": Case({"app/__main__.py": FACTS + "import beside", "app/beside.py": "print(__file__)"}, ("app", "arg")),
    "folder with a slash": Case({"app/__main__.py": FACTS}, ("app/",)),
    "folder that raises": Case({"app/__main__.py": "def f():\n    1/0\nf()"}, ("app",), status=1),
    "folder without main": Case({"app/x.py": ""}, ("app",), status=1),
}  # fmt: skip

_BELOW = "our frames stand below the program's"
_DIFFERENT = {
    "raises by recursion": f"{_BELOW}, and count for the limit",
    "traceback printed by hand": f"{_BELOW}, and print_stack shows them",
    "outermost frame": _BELOW,
    "warnings, one level too far": f"{_BELOW}, where Python itself would say sys:1",
    "syntax error, encoding": "Python reads a script by another tokenizer than compile(), which words it differently",
    "syntax error, unknown coding": "as above",
    "syntax error, null byte": "as above",
    "no site": "without site-packages what autochron itself needs is not there",
    "keyboard interrupt, and objects left": "SIGINT ends the process before Python takes its modules down",
}


if sys.version_info >= (3, 12):
    _DIFFERENT |= dict.fromkeys(
        ("exit huge", "exit, its str fails") if sys.version_info < (3, 14) else ("exit huge",),
        "Python goes down with an error pending, and shows it or not by what runs at exit, such as our last word",
    )

_FAST = frozenset(
    """watched errors|exit int|exit minus two|exit str|exit none|exit, its str fails|exit and no stderr|raises|raises a group
    raises from an import|raises attribute error with suggestion|keyboard interrupt|keyboard interrupt subclass|syntax error
    syntax error, in an import|source with BOM and CRLF|excepthook of the program|excepthook that fails|excepthook that exits
    raises in a thread|raises in atexit|raises in __del__ at the end|facts|facts, safe path|facts, no suffix|imports itself
    beside a library's module|dataclass and pickle|argparse|warnings as errors|dev mode|stdin by input|stdin whole
    stdin by parts|stdout binary|stdout mixed|stdout facts|stdout types|stdout unbuffered|stdout replaced|stdout closed
    stdout descriptor closed|stdout of a child|atexit and threads|daemon thread|os._exit|exec|fork|SIGTERM|SIGINT|getsignal
    own handler|handlers given back|multiprocessing spawn|-m package|-m package.module|-m module that raises|-m nothing|folder
    outermost frame|no site""".replace("\n    ", "|").split("|")
)
"""The cases that run by default: a sample of each kind. The others are marked slow."""


def _marked(name):
    reason = _DIFFERENT.get(name)
    marks = [pytest.mark.xfail(reason=reason, strict=True)] if reason else []
    if name not in _FAST:
        marks.append(pytest.mark.slow)
    return pytest.param(SCRIPTS[name], id=name, marks=marks)


def without_addresses(result):
    """Return the result without memory addresses."""
    return result._replace(out=_ADDRESS.sub(b"0x", result.out), err=_ADDRESS.sub(b"0x", result.err))


_ADDRESS = re.compile(rb"0x[0-9a-f]{6,}")


def compared(case, folder, words=None):
    """Run a case plainly and recorded, with the store outside the program's folder; return both results."""
    home = folder / "program"
    home.mkdir()
    write(home, case.files)
    words = case.words if words is None else words
    store = folder / "traces.db"
    ours = ("-m", "autochron", "run", "--quiet", "--store", store)
    plain = python(home, *case.flags, *words, stdin=case.stdin, env=case.env)
    woven = python(home, *case.flags, *ours, *words, stdin=case.stdin, env=case.env)
    return without_addresses(plain), without_addresses(woven)


@pytest.mark.parametrize("case", [_marked(name) for name in SCRIPTS])
def test_a_recorded_program_writes_the_same_bytes_and_has_the_same_status(case, tmp_path):
    plain, woven = compared(case, tmp_path)
    assert woven == plain
    assert case.status is None or plain.status == case.status


_LOCALES: dict[str, dict[str, str]] = {
    "none": {},
    "C": {"LANG": "C"},
    "C for letters": {"LC_CTYPE": "C"},
    "C for all": {"LC_ALL": "C", "LC_CTYPE": "C.UTF-8"},
    "an empty one for all": {"LC_ALL": ""},
    "UTF-8 for letters": {"LC_CTYPE": "C.UTF-8"},
    "UTF-8": {"LANG": "C.UTF-8"},
    "UTF-8 asked for": {"PYTHONUTF8": "1", "LC_CTYPE": "C.UTF-8"},
    "UTF-8 refused": {"PYTHONUTF8": "0", "LANG": "C"},
    "not coerced": {"PYTHONCOERCECLOCALE": "0"},
}
_LOCALE = (
    "import locale, os, subprocess, sys\n"
    "print(sys.flags.utf8_mode, sys.stdout.encoding, locale.getpreferredencoding(), sys.getfilesystemencoding())\n"
    "print(sorted(each for each in os.environ.items() if each[0].startswith(('LANG', 'LC_', 'PYTHON'))), flush=True)\n"
    "subprocess.run([sys.executable, '-c', 'import sys; print(sys.flags.utf8_mode)'])"
)


@pytest.mark.parametrize("set_there", _LOCALES.values(), ids=_LOCALES)
def test_a_recorded_program_sees_the_locale_that_was_set(set_there, tmp_path, monkeypatch):
    for name in ("LANG", "LC_ALL", "LC_CTYPE", "PYTHONUTF8", "PYTHONCOERCECLOCALE"):
        monkeypatch.delenv(name, raising=False)
    plain, woven = compared(Case({"prog.py": _LOCALE}, ("prog.py",), env=set_there), tmp_path)
    assert woven == plain


def test_the_sample_names_existing_cases():
    assert set(SCRIPTS) >= _FAST
    assert set(SCRIPTS) >= set(_DIFFERENT)

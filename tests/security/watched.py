"""What runs while a block does: audit events, Python functions and functions in C that are not expected."""

import contextlib
import gc
import os
import sys
import types

import _pytest
import anyio
import hypothesis
import pluggy
import pydantic
import wrapt

import autochron

STDLIB = os.path.dirname(os.__file__)
OURS = tuple(
    os.path.dirname(each.__file__)
    for each in (autochron, hypothesis, wrapt, _pytest, pluggy, pydantic, anyio)
)
OURS += (os.path.join(os.path.dirname(os.path.dirname(hypothesis.__file__)), "_distutils_hack"),)
# Pure Python of the standard library that value types are made with, and what importing those modules runs.
LIBRARY = tuple(
    os.path.join(STDLIB, name)
    for name in (
        *(
            "_pydecimal",
            "datetime.py",
            "decimal",
            "fractions.py",
            "uuid.py",
            "pathlib",
            "zoneinfo",
            "ntpath.py",
        ),
        *(
            "posixpath.py",
            "genericpath.py",
            "enum.py",
            "ast.py",
            "types.py",
            "typing.py",
            "abc.py",
            "functools.py",
        ),
        *(
            "collections",
            "re",
            "numbers.py",
            "operator.py",
            "os.py",
            "contextlib.py",
            "_weakrefset.py",
            "codecs.py",
        ),
        *(
            "encodings",
            "inspect.py",
            "string.py",
            "json",
            "bisect.py",
            "keyword.py",
            "reprlib.py",
            "sysconfig",
            "platform.py",
        ),
        *(
            "_collections_abc.py",
            "copyreg.py",
            "linecache.py",
            "importlib",
            "_py_abc.py",
            "urllib",
            "ipaddress.py",
            "fnmatch.py",
        ),
        *(
            "math",
            "weakref.py",
            "struct.py",
            "__future__.py",
            "_pydatetime.py",
            "_strptime.py",
            "locale.py",
            "glob.py",
        ),
    )
)
EVENTS = frozenset(
    {
        "object.__getattr__",
        "object.__setattr__",
        "object.__delattr__",
        "sys._getframe",
        "sys.setprofile",
        "import",
        "marshal.loads",
        "builtins.id",  # a stream of anyio's that is dropped open warns with its address
    }
)
POSIX = frozenset(
    {
        "stat",
        "lstat",
        "getcwd",
        "readlink",
        "fspath",
        "_path_normpath",
        "_path_splitroot",
        "_path_splitroot_ex",
        "scandir",
        "listdir",
    }
)
QUIET = frozenset(
    {"posix", "nt", "_posixsubprocess", "_socket", "socket", "subprocess", "shutil", "_ctypes", "_pickle"}
)

_watching: list["Watched"] = []


class Watched:
    """What was seen."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def audit(self, event, arguments):
        """Hear an audit event."""
        if event in EVENTS or (event == "open" and _is_library(arguments[0])):
            return
        if event in ("compile", "exec") and _is_harmless(event, arguments):
            return
        self.found.append(f"event {event} {arguments!r:.80}")

    def profile(self, frame, event, argument):
        """Hear a call."""
        code = frame.f_code
        if event == "call" and code.co_name == "find_spec" and _asks_for_zones(frame):
            return
        if event == "call" and not code.co_filename.startswith((*OURS, __file__, *LIBRARY, "<frozen ")):
            if code.co_filename != "<string>":  # what `namedtuple`, `enum` and `dataclass` make
                self.found.append(f"call {code.co_qualname} in {code.co_filename}")
        elif event == "c_call":
            module = getattr(argument, "__module__", None)
            if module in QUIET and argument.__name__ not in POSIX:
                self.found.append(f"call {module}.{argument.__name__}")


def _asks_for_zones(frame):
    """Return whether a finder of an installed library is asked for the zones, which `zoneinfo` imports."""
    asked = list(frame.f_locals.values())
    asked += (each for held in frame.f_locals.values() if isinstance(held, tuple) for each in held)  # `*args`
    return any(isinstance(each, str) and each.partition(".")[0] == "tzdata" for each in asked)


def _is_library(path):
    return isinstance(path, (str, bytes)) and any(
        part in os.fsdecode(path) for part in (STDLIB, "zoneinfo", "tzdata", "site-packages")
    )


def _is_harmless(event, arguments):
    """The code of a traceback's frame: a missing name, and nothing else. A module that is imported has a file."""
    if event == "compile":
        return (
            not isinstance(arguments[0], (str, bytes))
            or arguments[0] == b""
            or _is_library(str(arguments[1]))
        )
    code = arguments[0]
    return isinstance(code, types.CodeType) and (
        code.co_names == ("_",) or _is_library(code.co_filename) or "<" in code.co_filename
    )


def _heard(event, arguments):
    for each in _watching:
        each.audit(event, arguments)


sys.addaudithook(_heard)


@contextlib.contextmanager
def watched():
    """Watch this thread."""
    seen = Watched()
    collects = gc.isenabled()  # what other tests have left is not finalized while we watch
    gc.disable()
    before = sys.getprofile()
    _watching.append(seen)
    sys.setprofile(seen.profile)
    try:
        yield seen
    finally:
        sys.setprofile(before)
        _watching.remove(seen)
        if collects:
            gc.enable()

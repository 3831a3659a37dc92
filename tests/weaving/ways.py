"""The ways in which a program is woven, and the handlers it is woven with.

A program is a file under `programs/` (or text that a test writes): its functions named `probe_…` look at the others and
give something that can be compared. Everything but the probes is woven.
"""

import contextlib
import functools
import importlib.util
import inspect
import itertools
import linecache
import sys
import textwrap
import types
from pathlib import Path

from autochron.weaving import gate
from autochron.weaving.ledger import Ledger
from autochron.weaving.weave import Mark, weave_code, weave_functions

PROGRAMS = Path(__file__).parent / "programs"
NAME = "woven_program"
"""Every program is this module while it runs, so that what it prints of itself is equal."""

UNWOVEN = "unwoven"
OFF = ("compiled-off", "imported-off")
ON = ("compiled-on", "imported-on")
WAYS = (*OFF, *ON)


# --- handlers -----------------------------------------------------------------------------------------------------


class PassingToken:
    """Passes through and keeps nothing."""

    __slots__ = ()

    def returned(self, value):
        return value

    def raised(self, error):
        pass

    def yielded(self, item):
        pass

    def resumed(self, sent=None, thrown=None):
        pass


class Passing:
    """A handler that only passes through."""

    __slots__ = ()

    def enter(self, point, arguments):
        return PASSING

    def __repr__(self):
        return "passing"


PASSING = PassingToken()


class Logging:
    """A handler that writes down all that it is told: (event, qualified name[, value])."""

    def __init__(self):
        self.log = []

    def enter(self, point, arguments):
        self.log.append(("enter", point.qualname, arguments))
        return LoggingToken(point.qualname, self.log)

    def events(self):
        return [entry[0] for entry in self.log]


class LoggingToken:
    def __init__(self, name, log):
        self.name = name
        self.log = log

    def returned(self, value):
        self.log.append(("returned", self.name, value))
        return value

    def raised(self, error):
        self.log.append(("raised", self.name, type(error).__name__))

    def yielded(self, item):
        self.log.append(("yielded", self.name, item))

    def resumed(self, sent=None, thrown=None):
        self.log.append(("resumed", self.name))


@contextlib.contextmanager
def handled_by(handler):
    """Put a handler in force."""
    before = gate.GATE[0]
    gate.switch_on(handler)
    try:
        yield handler
    finally:
        gate.GATE[0] = before


# --- programs -----------------------------------------------------------------------------------------------------


def functions_in(code):
    """Yield the code objects of the functions in a code object, however deep: no class bodies, no comprehensions."""
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            if constant.co_flags & inspect.CO_OPTIMIZED and not constant.co_name.startswith("<"):
                yield constant
            yield from functions_in(constant)


def all_places(code, *names):
    """Mark every function, or those of these qualified names."""
    return {
        (each.co_qualname, each.co_firstlineno): Mark(("rule",))
        for each in functions_in(code)
        if (each.co_qualname in names if names else not each.co_name.startswith("probe_"))
    }


@functools.cache
def compiled(program):
    """Compile a program's file, once."""
    path = PROGRAMS / f"{program}.py"
    return compile(path.read_bytes(), str(path), "exec", dont_inherit=True)


counter = itertools.count()


def compiled_text(text):
    """Compile a text under a file name of its own that `inspect.getsource` and tracebacks know."""
    name = f"<text {next(counter)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    return compile(text, name, "exec", dont_inherit=True)


def new_module(code):
    module = types.ModuleType(NAME)
    module.__file__ = code.co_filename
    module.__spec__ = importlib.util.spec_from_loader(NAME, loader=None)
    sys.modules[NAME] = module
    return module


woven_codes = {}
"""(identity, names) to a code object, what it became, and the ledger of that: it is woven once, as by an import."""


def once_woven(code, *names):
    """Weave a module's code; give the ledger, too."""
    # By identity: equal code objects may come from different files.
    if (id(code), names) not in woven_codes:
        ledger = Ledger()
        woven = weave_code(code, NAME, all_places(code, *names), ledger)
        woven_codes[id(code), names] = (code, woven, ledger)
    return woven_codes[id(code), names][1:]


@contextlib.contextmanager
def program_as(code, way, handler=None, *names):
    """Run a module's code and give the module, woven in one of `WAYS` or not at all.

    The gate is opened only once the module has run: what runs in between is the test's own.
    """
    ledger = Ledger()
    undo = None
    before = sys.modules.get(NAME)
    if way.startswith("compiled"):
        code, ledger = once_woven(code, *names)
    module = new_module(code)
    try:
        exec(code, module.__dict__)
        if way.startswith("imported"):
            undo = weave_functions(NAME, all_places(code, *names), ledger)
        # Functions of an earlier run of the same program may be waiting for the garbage collector, woven.
        assert {each.slug for each in ledger.unwoven} <= {"woven-twice"}
        with handled_by(handler or Passing()) if way.endswith("on") else contextlib.nullcontext():
            yield module
    finally:
        if undo is not None:
            undo()
        if before is None:
            del sys.modules[NAME]
        else:
            sys.modules[NAME] = before
        # Its functions know each other through this. Else those of a dozen runs wait for the garbage collector, and weaving
        # in place weaves them all.
        vars(module).clear()


def probe(code, way, name):
    """Run one probe of a program in one way."""
    with program_as(code, way) as module:
        return module.__dict__[name]()


def probes_of(program):
    """Return the names of a program's probes."""
    return [name for name in compiled(program).co_names if name.startswith("probe_")]


def woven(text, handler=None, *names):
    """Return the names that a text defines, its functions woven; the caller opens the gate."""
    code = compiled_text(textwrap.dedent(text).strip() + "\n")
    ledger = Ledger()
    code = weave_code(code, NAME, all_places(code, *names), ledger)
    assert ledger.unwoven == ()
    namespace = {"__name__": NAME}
    exec(code, namespace)
    return types.SimpleNamespace(**namespace)

"""The ways in which a program can be woven, and handlers for it.

A program is a file in `programs/`, or a text in a test. Its functions named `probe_…` examine the others and return a
comparable result. All functions except the probes are woven.
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
"""The module name of every program while it runs, so that names in its output are equal."""

UNWOVEN = "unwoven"
OFF = ("compiled-off", "imported-off")
ON = ("compiled-on", "imported-on")
WAYS = (*OFF, *ON)


# --- handlers -----------------------------------------------------------------------------------------------------


class PassingToken:
    """A token that changes nothing and keeps nothing."""

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
    """A handler whose tokens change nothing."""

    __slots__ = ()

    def enter(self, point, arguments):
        return PASSING

    def __repr__(self):
        return "passing"


PASSING = PassingToken()


class Logging:
    """A handler that logs its events as (event, qualified name[, value])."""

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
    """Switch the gate to a handler for the duration of the block."""
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
    """Return the places of all functions except probes, or of those with these qualified names."""
    return {
        (function.co_qualname, function.co_firstlineno): Mark(("rule",))
        for function in functions_in(code)
        if (function.co_qualname in names if names else not function.co_name.startswith("probe_"))
    }


@functools.cache
def compiled(program):
    """Compile a program's file, once."""
    path = PROGRAMS / f"{program}.py"
    return compile(path.read_bytes(), str(path), "exec", dont_inherit=True)


counter = itertools.count()


def compiled_text(text):
    """Compile a text under a unique file name whose source `inspect.getsource` and tracebacks can read."""
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
"""Map (id of a code object, names) to the code object, its woven code and the ledger. It is woven once, as by an import."""


def once_woven(code, *names):
    """Return the woven code of a module and its ledger; weave it only the first time."""
    # By identity: equal code objects may come from different files.
    if (id(code), names) not in woven_codes:
        ledger = Ledger()
        woven = weave_code(code, NAME, all_places(code, *names), ledger)
        woven_codes[id(code), names] = (code, woven, ledger)
    return woven_codes[id(code), names][1:]


@contextlib.contextmanager
def program_as(code, way, handler=None, *names):
    """Run a module's code, woven in one of `WAYS` or unwoven, and yield the module.

    The handler is switched on only after the module has run, so it sees only the calls of the test.
    """
    with module_of(code, way, *names) as module, switched(way, handler):
        yield module


@contextlib.contextmanager
def module_of(code, way, *names):
    """Run a module's code, woven in one of `WAYS` or unwoven, and yield the module, with no handler."""
    ledger = Ledger()
    undo = None
    if way.startswith("compiled"):
        code, ledger = once_woven(code, *names)
    before = sys.modules.get(NAME)
    module = new_module(code)
    try:
        exec(code, module.__dict__)
        if way.startswith("imported"):
            undo = weave_functions(NAME, all_places(code, *names), ledger)
        # Woven functions of an earlier run of the same program may not be garbage-collected yet.
        assert {refusal.slug for refusal in ledger.unwoven} <= {"woven-twice"}
        yield module
    finally:
        if undo is not None:
            undo()
        restore(before)
        # The functions refer to each other through these globals. Without this, those of a dozen runs would wait for the
        # garbage collector, and weaving in place would weave them all.
        vars(module).clear()


def restore(before):
    """Put back the module that had the name of the program's; None if there was none."""
    if before is None:
        sys.modules.pop(NAME, None)
    else:
        sys.modules[NAME] = before


def switched(way, handler=None):
    """Return the context of calls in one of `WAYS`."""
    return handled_by(handler or Passing()) if way.endswith("on") else contextlib.nullcontext()


def probe(code, way, name):
    """Run one probe of a program woven in one way, and return its result."""
    with program_as(code, way) as module:
        return call(module, name)


def call(module, name):
    """Call a probe. Some probes see their caller, so it is always this function."""
    return module.__dict__[name]()


def probes_of(program):
    """Return the names of a program's probes."""
    return [name for name in compiled(program).co_names if name.startswith("probe_")]


def woven(text, handler=None, *names):
    """Return a namespace of the names that a text defines, with woven functions; the caller switches on a handler."""
    code = compiled_text(textwrap.dedent(text).strip() + "\n")
    ledger = Ledger()
    code = weave_code(code, NAME, all_places(code, *names), ledger)
    assert ledger.unwoven == ()
    namespace = {"__name__": NAME}
    exec(code, namespace)
    return types.SimpleNamespace(**namespace)

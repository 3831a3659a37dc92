"""Run CPython's own tests, plain or with every function woven, and write the outcome of each test.

    python weave_all.py {plain,off,on,bound,probed} REPORT MODULE...

The functions of every module that is compiled from source after the start, including the test modules, are woven; those of
modules that were imported before are woven in place. `off` leaves the gate closed. `on` installs a handler that changes
nothing.

`bound` and `probed` instead insert a Python function between each call and its callee, which only makes the call: in the
bytecode, as call sites are bound, or in the syntax tree, for comparison. Both change the same calls, those of every module
that is compiled after the start.

REPORT gets a line of JSON for each test as soon as it is done, so that a crash shows where it happened, and a last line.

This is a program and not a test: a child process runs it as `__main__`, without pytest.
"""

from __future__ import annotations

import ast
import builtins
import functools
import gc
import importlib
import importlib._bootstrap_external as external
import json
import os
import sys
import time
import types
import unittest
import warnings
from pathlib import Path

ROOT = str(Path(__file__).resolve().parents[2])
# Only for these imports, because a test may inspect the path.
sys.path.insert(0, ROOT)
from autochron.errors import WeavingError  # noqa: E402 - the path comes first
from autochron.matching.calls import fit_call  # noqa: E402
from autochron.matching.scopes import Names  # noqa: E402
from autochron.matching.sites import CallRule, CallSite  # noqa: E402
from autochron.model import BoundaryRule, CallSelector, Place  # noqa: E402
from autochron.rules.calls import Anything, Attribute, CallPattern, Index, Metavariable  # noqa: E402
from autochron.weaving import gate  # noqa: E402
from autochron.weaving.binding import bind_calls, bindings_of  # noqa: E402
from autochron.weaving.ledger import Ledger  # noqa: E402
from autochron.weaving.splice import splice  # noqa: E402
from autochron.weaving.weave import Mark, is_woven, point_of  # noqa: E402

sys.path.remove(ROOT)

OURS = (os.path.join(ROOT, "autochron") + os.sep, os.path.abspath(__file__))
NO_RULES = Mark(())
AGAIN = (
    "argparse",
    "configparser",
    "dataclasses",
    "inspect",
    "textwrap",
    "statistics",
    "tomllib",
    "fractions",
    "json",
)
"""Modules that were imported before, and are imported again so that their calls are changed."""
IS_FUNCTION = 2
"""CO_NEWLOCALS: set for functions, lambdas and comprehensions; not for modules and class bodies."""
IS_OPTIMIZED = 1


class Weaver:
    """Weaves code objects, and counts them."""

    def __init__(self) -> None:
        self.woven = 0
        self.refused: list[str] = []

    def all_of(self, code: types.CodeType, module: str) -> types.CodeType:
        """Weave every function in a code object, at any depth."""
        constants = tuple(
            self.all_of(constant, module) if isinstance(constant, types.CodeType) else constant
            for constant in code.co_consts
        )
        if any(new is not old for new, old in zip(constants, code.co_consts, strict=True)):
            code = code.replace(co_consts=constants)
        if not (code.co_flags & IS_OPTIMIZED and code.co_flags & IS_FUNCTION):
            return code
        if code.co_name == "<genexpr>" and sys.version_info >= (3, 15):
            return code  # it begins with what it iterates on its stack; rules can't name one
        try:
            woven = splice(code, point_of(code, module, NO_RULES))
        except WeavingError as error:
            self.refused.append(f"{module}:{code.co_qualname}: {error}")
            return code
        self.woven += 1
        return woven

    def imported_later(self) -> None:
        """Weave modules that are loaded from source from now on."""
        original = external.SourceLoader.get_code

        def get_code(loader, fullname):
            code = original(loader, fullname)
            return code if code is None or code.co_filename.startswith(OURS) else self.all_of(code, fullname)

        external.SourceLoader.get_code = get_code

    def imported_before(self) -> None:
        """Weave every existing function except our own."""
        done: dict[int, types.CodeType] = {}
        for function in [item for item in gc.get_objects() if type(item) is types.FunctionType]:
            old = function.__code__
            if old.co_filename.startswith(OURS) or is_woven(old):
                continue
            if id(old) not in done:
                done[id(old)] = self.all_of(old, function.__module__ or "?")
            function.__code__ = done[id(old)]


class Calls:
    """Inserts a function between each call and its callee."""

    def __init__(self) -> None:
        self.woven = 0
        self.refused: list[str] = []

    def imported_later(self, *, in_bytecode: bool) -> None:
        """Change modules that are loaded from source from now on."""
        original = external.SourceLoader.get_code

        def get_code(loader, fullname):
            code = original(loader, fullname)
            if code is None or code.co_filename.startswith(OURS) or fullname.startswith(APART):
                return code
            source = external.decode_source(loader.get_data(loader.path))
            sites = list(self.sites(source, fullname))
            if in_bytecode:
                return self.bound(code, sites, fullname)
            return compile(self.probed(source, sites), code.co_filename, "exec", dont_inherit=True)

        external.SourceLoader.get_code = get_code

    def sites(self, source, module):
        """Yield each call that a rule could match."""
        names = Names(ast.parse(source), module, is_package=False)
        for call, scope in names.calls:
            rule = CallRule(RULE, pattern_of(call.func), None, None, frozenset())
            fit = fit_call(rule, call, scope, names)
            if isinstance(fit, CallSite):
                yield fit

    def bound(self, code, sites, module):
        """Return code in which the calls are bound in the bytecode."""
        ledger = Ledger()
        bindings = bindings_of(sites, module, code.co_filename)
        for binding in bindings:
            binding.site = Through()
        bound = bind_calls(code, bindings, ledger)
        self.woven += sum(binding.bound for binding in bindings)
        self.refused += [f"{entry.what}: {entry.reason}" for entry in ledger.unwoven]
        return bound

    def probed(self, source, sites):
        """Return a syntax tree in which the calls are wrapped."""
        wanted = {site.calls[0] for site in sites}

        class Probe(ast.NodeTransformer):
            def visit_Call(self, node):
                self.generic_visit(node)
                if (node.lineno, node.end_lineno, node.col_offset, node.end_col_offset) in wanted:
                    name = ast.copy_location(ast.Name("__probe__", ast.Load()), node.func)
                    node.func = ast.copy_location(ast.Call(name, [node.func], []), node.func)
                return node

        self.woven += len(wanted)
        builtins.__probe__ = through
        return ast.fix_missing_locations(Probe().visit(ast.parse(source)))


RULE = BoundaryRule(id="all", name="all", kind="tool", selector=CallSelector("all()"), place=Place("", 0))
APART = ("test.support", "test.libregrtest", "importlib", "encodings")
"""Modules that running the tests itself needs, which are left unchanged."""


def pattern_of(called):
    """Return a pattern that matches this callee and little else."""
    anything = Metavariable("receiver")
    if isinstance(called, ast.Attribute):
        return CallPattern("", anything, (Attribute(called.attr),), (), (), True, ())
    if isinstance(called, ast.Subscript):
        return CallPattern("", anything, (Index(Anything()),), (), (), True, ())
    return CallPattern("", getattr(called, "id", "?"), (), (), (), True, ())


def through(callee):
    """Return a function that calls the callee and counts the call."""
    return functools.partial(call, callee)


def call(callee, /, *args, **kwargs):
    PassThrough.crossings += 1
    return callee(*args, **kwargs)


class Through:
    """A minimal call site, in place of `Site`."""

    module, label, line = "", "", 0

    def bind(self, callee):
        return through(callee)


class PassThrough:
    """A handler that counts crossings and changes nothing."""

    crossings = 0
    ends = 0

    def enter(self, point, arguments):
        PassThrough.crossings += 1
        return Crossing()


class Crossing:
    """The token of one crossing."""

    __slots__ = ()

    def returned(self, value):
        PassThrough.ends += 1
        return value

    def raised(self, error):
        PassThrough.ends += 1

    def yielded(self, item):
        pass

    def resumed(self, sent=None, thrown=None):
        pass


# --- running tests -------------------------------------------------------------------------------------------------


WORSE = ("passed", "expected failure", "skipped", "unexpected success", "failed", "error")


class Outcomes(unittest.TestResult):
    """Writes each test's outcome; the outcome of a test with subtests is the worst of theirs."""

    def __init__(self, report) -> None:
        super().__init__()
        self.report = report
        self.outcome, self.detail = "", ""

    def startTest(self, test):
        super().startTest(test)
        self.outcome, self.detail = "", ""

    def stopTest(self, test):
        super().stopTest(test)
        self.write(test.id(), self.outcome or "passed", self.detail)

    def write(self, name, outcome, detail):
        json.dump({"test": name, "outcome": outcome, "detail": detail}, self.report)
        self.report.write("\n")
        self.report.flush()

    def note(self, outcome, detail="", test=None):
        if isinstance(
            test, unittest.suite._ErrorHolder
        ):  # an error outside every test, such as in setUpClass
            self.write(test.id(), outcome, detail)
        elif not self.outcome or WORSE.index(outcome) > WORSE.index(self.outcome):
            self.outcome, self.detail = outcome, detail

    def addSuccess(self, test):
        self.note("passed")

    def addError(self, test, err):
        self.note("error", self._exc_info_to_string(err, test), test)

    def addFailure(self, test, err):
        self.note("failed", self._exc_info_to_string(err, test), test)

    def addSubTest(self, test, subtest, err):
        if err is not None:
            failed = issubclass(err[0], test.failureException)
            text = f"{subtest}\n{self._exc_info_to_string(err, test)}"
            self.note("failed" if failed else "error", text)

    def addSkip(self, test, reason):
        self.note("skipped", str(reason), test)

    def addExpectedFailure(self, test, err):
        self.note("expected failure")

    def addUnexpectedSuccess(self, test):
        self.note("unexpected success")


def main(mode: str, report_file: str, skip: frozenset[str], modules: list[str]) -> None:
    began = time.perf_counter()
    weaver = Weaver()
    if mode in {"bound", "probed"}:
        ast.unparse(
            ast.Constant(1)
        )  # since 3.14 it imports a module, which is no time to bind the calls of that module
        weaver = Calls()
        weaver.imported_later(in_bytecode=mode == "bound")
        for name in AGAIN:
            sys.modules.pop(name, None)
    elif mode != "plain":
        weaver.imported_later()
        weaver.imported_before()
    if mode == "on":
        gate.switch_on(PassThrough())
    prepare_support()
    with open(report_file, "w", encoding="utf-8") as report:
        outcomes = Outcomes(report)
        for name in modules:
            run_module(name, skip, outcomes)
        gate.switch_off()
        summary = {
            "woven": weaver.woven,
            "refused": weaver.refused,
            "crossings": PassThrough.crossings,
            "ends": PassThrough.ends,
            "seconds": round(time.perf_counter() - began, 1),
        }
        json.dump({"summary": summary}, report)
        report.write("\n")


def prepare_support() -> None:
    """Set up `test.support` as regrtest does, without resources and without child processes."""
    from test import support
    from test.support import script_helper

    support.use_resources = () if sys.version_info < (3, 14) else {}
    support.verbose = 0

    def no_child(*arguments, **options):
        raise unittest.SkipTest("a child of the test's own would not be woven")

    script_helper.run_python_until_end = script_helper.spawn_python = no_child
    script_helper.interpreter_requires_environment = lambda: False


def run_module(name: str, skip: frozenset[str], outcomes: Outcomes) -> None:
    began = time.perf_counter()
    outcomes.write(name, "begun", "")
    with warnings.catch_warnings():
        try:
            module = importlib.import_module(name)
            tests = unittest.defaultTestLoader.loadTestsFromModule(module)
        except unittest.SkipTest as error:
            outcomes.write(name, "skipped", str(error))
            return
        drop(tests, skip)
        # Freeze the imported objects, because many tests collect garbage in a loop and would traverse them each time.
        gc.collect()
        gc.freeze()
        tests.run(outcomes)
    sys.modules["test.support"].gc_collect()
    outcomes.write(name, "done", str(round(time.perf_counter() - began, 2)))


def drop(tests: unittest.TestSuite, skip: frozenset[str]) -> None:
    """Remove the tests with these ids from a suite."""
    tests._tests = [
        test for test in tests._tests if isinstance(test, unittest.TestSuite) or test.id() not in skip
    ]
    for test in tests._tests:
        if isinstance(test, unittest.TestSuite):
            drop(test, skip)


if __name__ == "__main__":
    _, mode, report_file, *names = sys.argv
    sys.argv = sys.argv[:1]
    skipped = frozenset(os.environ.pop("WEAVE_ALL_SKIP", "").split())
    main(mode, report_file, skipped, names)

"""Find the calls of sources whose value can change nothing that a run does or says, by all that the value reaches.

A clock that decides how long a program sleeps, a random name of a file that is renamed, an identifier that is only a key in a
table, a process id in a log: such a call is told as harmless. Each value is followed through its module, and all its ways
have to end in logs, metrics, sleeps, names of temporary files or keys. What is not understood is not harmless.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from functools import lru_cache

from autochron.detect.catalogue import BY_NAME, LOOP_TIME
from autochron.detect.line_hash import source_lines
from autochron.detect.scan.flow import last_name
from autochron.detect.scan.log_targets import logs_elsewhere, logs_to_stderr
from autochron.detect.scan.module_index import LOGGING, line_of
from autochron.detect.scan.value_uses import (
    FILLING_METHODS,
    Escape,
    ValueFlow,
    ValueUses,
)
from autochron.model import Category

FOLLOWED: frozenset[Category] = frozenset({"clock", "random", "uuid", "host", "identity", "files"})
"""The categories of which some values are followed; of files, the names of temporary ones."""
_NEVER_NONE = frozenset({"clock", "uuid", "files"})
"""Those whose sources never return None, as `shutil.which`, `random.choice` and weak references may."""
_TEMPORARY = frozenset(
    {"tempfile.mkstemp", "tempfile.mkdtemp", "tempfile.mktemp", "tempfile.TemporaryDirectory"}
)
_SLEEPS = frozenset(
    f"{module}.sleep" for module in ("time", "asyncio", "trio", "anyio", "gevent", "eventlet", "curio")
)
_METRIC = re.compile(
    r".*(?:metric|histogram|latency|latencie|counter|gauge|statsd|stats|timer|timing|summary|telemetry|meter|prometheus|dogstatsd)s?_*",
    re.IGNORECASE,
)
_FOR_THEIR_EFFECT = frozenset({"gc.collect", "os.umask"})
"""Sources that programs mostly call for what they do."""
_CONSTANT_IN_A_PROCESS = frozenset({"os.getpid", "threading.get_ident", "threading.get_native_id"})
"""Sources that are asked again only to see whether the process or the thread is still the same."""
_MEASURING = frozenset(
    {"observe", "record", "inc", "increment", "incr", "dec", "timing", "gauge", "histogram", "distribution"}
)
"""Methods that take a measurement."""
_FILE_CALLS = "replace rename renames unlink remove close fdopen rmdir mkdir makedirs chmod fsync write"
_TAKING_PATHS = frozenset(
    {
        *(f"os.{name}" for name in _FILE_CALLS.split()),
        *(f"shutil.{name}" for name in ("rmtree", "move", "copy", "copyfile")),
    }
)
"""Functions that make nothing of a file's name but that file. Of those that rename, the first argument is meant."""
_TAKING_AWAY = frozenset(
    {
        *(f"os.{name}" for name in ("replace", "rename", "renames", "unlink", "remove", "rmdir")),
        *("shutil.rmtree", "shutil.move"),
    }
)
"""Those after which there is no file of the name."""
_MAKING_FILES = frozenset({"os.mkdir", "os.makedirs"})
_MAKING_PATHS = frozenset({"os.path.join", "pathlib.Path", "os.fspath", "os.path.abspath"})
_MAKING_METHODS = frozenset({"open", "write_text", "write_bytes", "touch", "mkdir"})
_TAKING_AWAY_METHODS = frozenset({"unlink", "rename", "replace", "rmdir", "cleanup"})
_OF_PATHS = _MAKING_METHODS | _TAKING_AWAY_METHODS | {"close"}
"""Methods of paths, temporary folders and files whose result says nothing of the name."""
_MAKING_NAMES = frozenset({"with_name", "with_suffix", "joinpath"})
"""Methods of paths that make another path of the name."""
_OF_FILES = frozenset({"open", "read_text", "read_bytes", "exists", "is_file", "is_dir"})
"""Methods of paths whose result says only what the file has."""
_PARTS_OF_NAMES = frozenset({"hex", "int", "bytes", "name", "ident"})
_COPYING = frozenset(
    {"pickle", "copy", "deepcopy", "dill", "cloudpickle", "jsonpickle", "asdict", "astuple", "caplog"}
)
"""Names that reach all attributes of an object, or the log."""
_LOG_HANDLERS = frozenset(
    {"StreamHandler", "Handler", "MemoryHandler", "QueueHandler", "BufferingHandler", "assertLogs"}
)
"""With these a program may read its own log."""
_LOG_REDIRECTIONS = frozenset(
    {
        *("redirect_stderr", "setStream", "dictConfig", "fileConfig", "RichHandler", "catch_warnings"),
        *("Filter", "addFilter", "setLogRecordFactory"),
    }
)
"""With these the log may go elsewhere than to the standard error."""
_KEYED_METHODS = frozenset({"get", "pop", "setdefault", "add", "discard", "remove"})
"""Methods of dictionaries and sets whose first argument is a key."""


_OPERATOR_NAMES = "setitem getitem contains iadd add lshift rshift or ior and getattr setattr"
_OPERATORS = frozenset(f"__{name}__" for name in _OPERATOR_NAMES.split())
"""Methods for operators: with them the module may print what it seems to compute."""


def harmless(uses: ValueUses) -> frozenset[tuple[int, Category]]:
    """Return the lines of a module whose calls of sources of a category are all harmless."""
    module = uses.viewed_as(HarmlessUses)
    if (
        module.reflects
        or not _COPYING.isdisjoint(module.names)
        or not _OPERATORS.isdisjoint(module.functions)
    ):
        return frozenset()
    module.find_read_logs()
    verdicts: dict[tuple[int, Category], bool] = {}
    for node in module.calls:
        category = module.category_of(node)
        if category is not None:
            key = (line_of(node), category)
            verdicts[key] = verdicts.get(key, True) and module.is_harmless(node)
    return frozenset(key for key, is_harmless in verdicts.items() if is_harmless)


def harmless_of(path: str) -> frozenset[tuple[int, Category]]:
    """Return the same for a file; nothing if it can't be read or parsed."""
    return _of_lines(source_lines(path))


@lru_cache(maxsize=64)
def _of_lines(lines: tuple[str, ...]) -> frozenset[tuple[int, Category]]:
    try:
        return harmless(ValueUses(ast.parse("\n".join(lines))))
    except (SyntaxError, ValueError, RecursionError):
        return frozenset()


class HarmlessUses(ValueUses):
    """The calls of sources in a module."""

    _is_made = False
    """Whether a file gets the value as its name."""
    _is_unique = False
    """Whether no other value is the same, so that a table has nothing else under it."""
    _is_asked_again = False
    """Whether the value comes again, so that a table may have something under it already."""
    _is_never_none = False
    """Whether the source always returns something."""
    _is_taken_away = False
    """Whether such a file is renamed or removed."""
    _reads_logs = False
    """Whether the program may read what it logs."""

    def find_read_logs(self) -> None:
        """Find out whether the program may read what it logs."""
        reading = (_LOG_HANDLERS - {"StreamHandler"}) | _LOG_REDIRECTIONS
        named = {
            *self.names,
            *(name for scope, name in self.uses if scope is None),
            *(dotted.rpartition(".")[2] for dotted in self.imported.values()),
        }
        renamed = {
            name
            for name, dotted in self.imported.items()
            if dotted.endswith((".StreamHandler", ".basicConfig"))
        } - {"StreamHandler", "basicConfig"}
        self._reads_logs = (
            not reading.isdisjoint(named)
            or bool(renamed)
            or any(
                (last_name(call.func) == "StreamHandler" and not logs_to_stderr(call))
                or (last_name(call.func) == "basicConfig" and logs_elsewhere(call))
                for call in self.calls
            )
            or any(isinstance(self.parents[use], ast.ClassDef) for use in self._named("StreamHandler"))
            or any(isinstance(use.ctx, ast.Store) for use in self.uses.get((None, "stderr"), ()))
        )

    def _named(self, name: str) -> list[ast.Name | ast.Attribute]:
        """Return where anything of a name is used."""
        return [use for (_, found), uses in self.uses.items() if found == name for use in uses]

    def category_of(self, node: ast.Call) -> Category | None:
        """Return the category of the source that a call calls by its name; None if it is no source that is followed."""
        if LOOP_TIME in self.clocks(node):
            return "clock"
        name = self.dotted_name(node.func)
        source = BY_NAME.get(name)
        if (
            source is None
            or source.category not in FOLLOWED
            or (source.category == "files" and name not in _TEMPORARY)
        ):
            return None
        return source.category

    def is_harmless(self, call: ast.Call) -> bool:
        """Return whether all that the value of a call reaches is harmless."""
        self._is_made = self._is_taken_away = False
        self._is_never_none = self.category_of(call) in _NEVER_NONE
        self._is_asked_again = self.dotted_name(call.func) in _CONSTANT_IN_A_PROCESS
        self._is_unique = self.category_of(call) == "uuid" or self._is_asked_again
        pending = [ValueFlow(call, spans=True)]
        seen = set(pending)
        try:
            while pending:
                for onward in self.onward(pending.pop()):
                    if onward not in seen:
                        seen.add(onward)
                        pending.append(onward)
        except Escape:
            return False
        # A file that stays shows its name.
        is_temporary = self._is_taken_away or self.dotted_name(call.func) in _TEMPORARY
        return is_temporary or not self._is_made

    def onward(self, flow: ValueFlow) -> list[ValueFlow]:
        """Return the expressions that get a value next; none where it ends. Raise Escape if something else gets it."""
        node = flow.node
        parent = self.parents[node]
        match parent:
            case ast.Call(func=ast.Attribute(value=table, attr=name), args=[key, *_]) if (
                key is node and name in _KEYED_METHODS and self._is_unique and self._is_table(table)
            ):
                return []
            case ast.Call(args=[path, *_]) if path is node and self._takes_path(parent):
                return []
            case ast.Call(args=arguments) if (
                node in arguments
                and (reads := self._reads_of_parameter(parent, arguments.index(node))) is not None
            ):
                return reads
            case ast.Expr() if isinstance(node, ast.Call) and self.category_of(node) is not None:
                if self.dotted_name(node.func) not in _FOR_THEIR_EFFECT:
                    raise Escape  # it is called for some other reason, as `random.shuffle` is
                return []
            case ast.Compare():
                return self._compared(parent, node)
            case ast.Subscript(value=table, slice=key) if key is node and self._is_unique:
                self._expect_table(table)
                return []
            case ast.BinOp(op=ast.Div() | ast.FloorDiv() | ast.Mod(), right=divisor) if divisor is node:
                raise Escape  # it may be zero
            case ast.withitem(optional_vars=target) if target is not None:
                return self.stored(target, spans=True)
            case ast.Await():
                return [ValueFlow(parent, spans=True)]
        return super().onward(flow)

    def _takes_path(self, call: ast.Call) -> bool:
        """Return whether a call makes nothing of its first argument, a file's name, but that file."""
        dotted = self.dotted_name(call.func)
        self._is_taken_away |= dotted in _TAKING_AWAY
        is_written = dotted == "open" and _writes(call)
        self._is_made |= is_written or dotted in _MAKING_FILES
        return is_written or dotted in _TAKING_PATHS

    def stored(self, target: ast.expr | None, *, spans: bool) -> list[ValueFlow]:
        """Return where the variables are read that get a value or a part of it."""
        if isinstance(target, ast.Tuple):
            return [flow for part in target.elts for flow in self.stored(part, spans=spans)]
        if not self._is_private(target):
            raise Escape  # another module may read it
        if isinstance(self.parents.get(target), ast.AugAssign) and self._is_looped(target):  # type: ignore[arg-type]
            raise Escape  # it may change an object that something else holds
        return super().stored(target, spans=spans)

    def _is_looped(self, target: ast.expr | None) -> bool:
        """Return whether a name is bound by a loop or is a parameter, so that it may stand for an object of others."""
        if not isinstance(target, ast.Name):
            return False
        variable = self.variable(target)
        return variable in self.unknown or any(
            isinstance(self.parents.get(use), ast.For | ast.AsyncFor | ast.Tuple | ast.comprehension)
            for use in self.uses[variable]
            if isinstance(use.ctx, ast.Store)
        )

    def _is_private(self, node: ast.expr | None) -> bool:
        """Return whether only this module reads a variable: a local one, or an attribute or global with `_` before it."""
        match node:
            case ast.Subscript(value=base):
                return self._is_private(base)
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                is_mangled = name.startswith("__") and any(
                    scope is None and found != name and found.endswith(name) for scope, found in self.uses
                )
                return name.startswith("_") and not is_mangled
            case ast.Name(id=name):
                return not self._is_global(node) or name.startswith("_")
        return False

    def _is_global(self, node: ast.expr | None) -> bool:
        scope = self.variable(node)[0] if isinstance(node, ast.Name) else None
        return scope is not None and scope.kind == "module"

    def _reads_of_parameter(self, call: ast.Call, index: int) -> list[ValueFlow] | None:
        """Return where the function of this module that a call calls reads a parameter; None if it is not known."""
        called = call.func
        is_method = (
            isinstance(called, ast.Attribute)
            and isinstance(called.value, ast.Name)
            and called.value.id == "self"
        )
        functions = self.functions.get(last_name(called), [])
        if len(functions) != 1 or not (is_method or isinstance(called, ast.Name)):
            return None
        function, scope = functions[0]
        names = [parameter.arg for parameter in (*function.args.posonlyargs, *function.args.args)][is_method:]
        if index >= len(names) or function.decorator_list:
            return None
        return [
            ValueFlow(use, spans=True)
            for use in self.uses[scope, names[index]]
            if isinstance(use.ctx, ast.Load)
        ]

    def through_call(self, call: ast.Call, *, spans: bool) -> list[ValueFlow]:
        """Return where an argument of a call goes."""
        called, dotted = call.func, self.dotted_name(call.func)
        if dotted in _SLEEPS:
            return []
        if self.makes_logger(call):
            return [ValueFlow(call, spans=True)]
        if dotted in _MAKING_PATHS:
            return [ValueFlow(call, spans=True)]
        if isinstance(called, ast.Attribute):
            is_statement = isinstance(self.parents[call], ast.Expr | ast.Await)
            is_others = is_statement and called.attr not in self.functions
            if called.attr in _MEASURING and is_others and self._is_metric(called.value):
                return []
            if called.attr in LOGGING and self.is_logger(called.value):
                if not is_others or self._reads_logs:
                    raise Escape
                return []
            if called.attr in FILLING_METHODS and not self._is_private(called.value):
                raise Escape  # another module may read it
            if called.attr in _MAKING_NAMES:
                return [ValueFlow(call, spans=True)]
        return super().through_call(call, spans=spans)

    def _is_metric(self, node: ast.expr) -> bool:
        """Return whether an expression is a metric, of which this module only takes measurements."""
        while isinstance(node, ast.Call):
            node = node.func.value if isinstance(node.func, ast.Attribute) else node.func
        if not isinstance(node, ast.Name | ast.Attribute) or not _METRIC.fullmatch(last_name(node)):
            return False
        for use in self.uses[self.variable(node)]:
            parent = self.parents[use]
            is_measured = isinstance(parent, ast.Attribute) and parent.attr in (
                _MEASURING | {"labels", "tags"}
            )
            if isinstance(use.ctx, ast.Load) and not is_measured:
                return False
        return True

    def part(self, node: ast.Attribute, name: str, *, spans: bool) -> list[ValueFlow]:
        """Return where a part of a value goes that is read from it by an attribute."""
        parent = self.parents[node]
        is_called = isinstance(parent, ast.Call) and parent.func is node
        if (
            is_called
            and name in LOGGING
            and isinstance(self.parents[parent], ast.Expr)
            and not self._reads_logs
        ):
            return []  # a logger that has the value as context
        if is_called and (
            name in _OF_FILES
            or name in ("write_text", "write_bytes")
            or (name in _OF_PATHS and isinstance(self.parents[parent], ast.Expr))
        ):
            self._is_made |= name in _MAKING_METHODS
            self._is_taken_away |= name in _TAKING_AWAY_METHODS
            return []
        if name in _MAKING_NAMES and is_called:
            return [ValueFlow(parent, spans=True)]
        if name == "pop" and is_called:
            raise Escape  # there may be nothing
        if name in _PARTS_OF_NAMES:
            return [ValueFlow(node, spans=True)]
        return super().part(node, name, spans=spans)

    def _compared(self, compare: ast.Compare, node: ast.AST) -> list[ValueFlow]:
        """Return nothing where a comparison is harmless. Raise Escape if it is not."""
        sides = [self._sources(side) for side in (compare.left, *compare.comparators)]
        if all(side == sides[0] for side in sides) and sides[0] <= _CONSTANT_IN_A_PROCESS:
            return []
        if len(compare.ops) == 1 and compare.left is node:
            operator, other = compare.ops[0], compare.comparators[0]
            if (
                isinstance(operator, ast.Is | ast.IsNot)
                and isinstance(other, ast.Constant)
                and other.value is None
                and self._is_never_none
            ):
                return []
            if isinstance(operator, ast.In | ast.NotIn) and self._is_unique:  # codespell:ignore notin
                if self._is_asked_again and not self._only_fills(compare, other):
                    raise Escape
                self._expect_table(other)
                return []
        test: ast.AST = compare
        while isinstance(self.parents[test], ast.BoolOp | ast.UnaryOp):
            test = self.parents[test]
        statement = self.parents[test]
        if (
            isinstance(statement, ast.If | ast.While)
            and statement.test is test
            and self.only_waits([*statement.body, *statement.orelse])
        ):
            return []
        raise Escape

    def _only_fills(self, compare: ast.Compare, table: ast.expr) -> bool:
        """Return whether a statement only puts something into a table under a key that it has not yet."""
        match self.parents[compare]:
            case ast.If(test=test, orelse=[], body=[ast.Assign(targets=[ast.Subscript(value=filled)])]):
                return test is compare and ast.dump(filled) == ast.dump(table)
        return False

    def _sources(self, node: ast.AST) -> set[str]:
        """Return the names of the calls whose results an expression may be."""
        if isinstance(node, ast.Call):
            return {self.dotted_name(node.func)}
        if not isinstance(node, ast.Name | ast.Attribute):
            return {""}
        stores = [use for use in self.uses[self.variable(node)] if isinstance(use.ctx, ast.Store)]
        values = [getattr(self.parents[use], "value", None) for use in stores]
        return {self.dotted_name(value.func) if isinstance(value, ast.Call) else "" for value in values} or {
            ""
        }

    def only_waits(self, body: Iterable[ast.stmt]) -> bool:
        """Return whether statements do nothing but sleep and log."""
        return all(
            isinstance(statement, ast.Pass)
            or (isinstance(statement, ast.AugAssign) and self._is_unread(statement.target))
            or (isinstance(statement, ast.Expr) and self._waits(statement.value))
            for statement in body
        )

    def _is_unread(self, node: ast.expr) -> bool:
        """Return whether a private name or attribute is counted, and nothing in the module reads it."""
        return (
            isinstance(node, ast.Name | ast.Attribute)
            and self._is_private(node)
            and not any(isinstance(use.ctx, ast.Load) for use in self.uses[self.variable(node)])
        )

    def _waits(self, node: ast.expr) -> bool:
        call = node.value if isinstance(node, ast.Await) else node
        if not isinstance(call, ast.Call):
            return isinstance(call, ast.Constant)
        called = call.func
        is_log = (
            isinstance(called, ast.Attribute)
            and called.attr in LOGGING
            and self.is_logger(called.value)
            and not self._reads_logs
        )
        return is_log or self.dotted_name(called) in _SLEEPS

    def _is_table(self, node: ast.expr) -> bool:
        try:
            self._expect_table(node)
        except Escape:
            return False
        return True

    def _expect_table(self, node: ast.expr) -> None:
        """Raise Escape unless an expression is a dictionary or a set of this module that is only asked by key."""
        if not isinstance(node, ast.Name | ast.Attribute):
            raise Escape
        if not self._is_private(node):
            raise Escape
        variable = self.filled(node)
        for use in self.uses[variable]:
            parent = self.parents[use]
            if isinstance(use.ctx, ast.Store) or (isinstance(parent, ast.Subscript) and parent.value is use):
                continue
            is_looked_up = isinstance(parent, ast.Attribute) and parent.attr in (_KEYED_METHODS | {"clear"})
            is_counted = (
                isinstance(parent, ast.Call)
                and self.dotted_name(parent.func) == "len"
                and not self._is_asked_again
            )
            is_searched = isinstance(parent, ast.Compare) and use in parent.comparators
            if not (is_looked_up or is_counted or is_searched):
                raise Escape


def is_sleep(dotted: str) -> bool:
    """Return whether a dotted name is that of a function which only waits."""
    return dotted in _SLEEPS


def is_metric(method: str, owner: str) -> bool:
    """Return whether a method takes a measurement, by its name and the name of the object."""
    return method in _MEASURING and _METRIC.fullmatch(owner) is not None


def _writes(call: ast.Call) -> bool:
    """Return whether a call of `open` only writes."""
    modes = [*call.args[1:2], *(keyword.value for keyword in call.keywords if keyword.arg == "mode")]
    return any(isinstance(mode, ast.Constant) and set(str(mode.value)) & {"w", "x", "a"} for mode in modes)

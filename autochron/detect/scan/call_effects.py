"""What calls do with their arguments, as far as names tell: print them, compute from them, fill a container, or anything."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias

from autochron.detect.scan.destinations import Destinations
from autochron.detect.scan.flow import is_count, last_name
from autochron.detect.scan.harmless_uses import is_metric, is_sleep
from autochron.detect.scan.module_index import LOGGING, Function
from autochron.detect.scan.value_uses import FILLING_METHODS
from autochron.scopes import parameters

CallEffect: TypeAlias = Literal["none", "output", "fills", "own", "computes", "unknown"]
"""What a call does with an argument.

- `none`: nothing that a run shows, as a line of a log.
- `output`: it prints or writes it, or ends the process with it.
- `fills`: it puts it into the container whose method it is.
- `own`: it passes it to code of the module.
- `computes`: its result is made of it, and nothing else happens.
- `unknown`: anything.
"""

_SHOWING = frozenset({"print", "pprint", "echo", "secho", "print_json", "rule", "display"})
"""Last names of functions and methods that print their arguments."""
_WRITING = frozenset(
    {"write", "writelines", "write_text", "write_bytes", "writerow", "writerows", "dump", "send_bytes"}
)
_ENDING = frozenset({"sys.exit", "os._exit", "exit", "quit", "SystemExit"})
_PUTTING = frozenset({"put", "put_nowait", "push"})
_SAME_NAME = 4
"""The most functions of one name that a call is taken to call."""
_PURE_MODULES_NAMES = (
    "json re math cmath hashlib hmac base64 binascii zlib datetime textwrap string itertools functools "
    "collections operator copy decimal fractions statistics pathlib os.path posixpath shlex urllib.parse "
    "html struct enum dataclasses typing difflib unicodedata uuid heapq bisect calendar zoneinfo "
    "time types contextlib inspect colorsys codecs pprint reprlib numbers array secrets ast"
)
_PURE_MODULES = frozenset(_PURE_MODULES_NAMES.split())
"""Modules whose functions only compute a result from their arguments, as far as the arguments go."""
_PURE_BUILTINS_NAMES = (
    "isinstance issubclass callable type hasattr abs all any ascii bin bool bytearray bytes chr complex dict "
    "divmod enumerate filter float format frozenset getattr hash hex int iter len list map max memoryview min "
    "next oct ord pow range repr reversed round set slice sorted str sum super tuple zip vars"
)
_PURE_BUILTINS = frozenset(_PURE_BUILTINS_NAMES.split())
_ORDERLESS_NAMES = (
    "sorted set frozenset len sum min max any all Counter dict bool isinstance startswith endswith"
)
ORDERLESS = frozenset(_ORDERLESS_NAMES.split())
"""Functions whose result does not have the order of their argument."""
_INERT = frozenset({"id", "delattr", "assert_type", "reveal_type"})
_TEXT_METHODS_NAMES = (
    "join format replace split rsplit strip lstrip rstrip lower upper title encode decode startswith "
    "endswith ljust rjust zfill center partition rpartition splitlines find index count removeprefix "
    "removesuffix casefold translate"
)
_TEXT_METHODS = frozenset(_TEXT_METHODS_NAMES.split())
COMPUTING = _TEXT_METHODS | frozenset(
    {
        "str",
        "int",
        "float",
        "abs",
        "round",
        "min",
        "max",
        "sum",
        "sorted",
        "repr",
        "bool",
        "chr",
        "ord",
        "isdigit",
        "isalpha",
    }
)
"""Callables whose result their arguments alone decide."""
KEYED = frozenset({"get", "pop", "discard", "remove", "setdefault", "has", "contains"})
_KEEPING_ORDER_NAMES = "list tuple reversed iter map filter chain islice"
KEEPING_ORDER = frozenset(_KEEPING_ORDER_NAMES.split())
"""Functions whose result has the elements of their argument in its order."""


COUNTING = frozenset({"len", "bool", "any", "all", "isinstance"})
"""Functions whose result says nothing of the keys of a table."""
NOT_ASKING = frozenset({"len", "bool", "isinstance", "type", "hasattr", "callable"})
"""Functions whose result says nothing of an object's attributes."""
_FILLING = frozenset(
    {"heapq.heappush", "heapq.heappushpop", "bisect.insort", "bisect.insort_left", "bisect.insort_right"}
)
"""Functions that put an argument into their first one."""


_HANDING_ON = frozenset({"start_soon", "submit", "to_thread", "run_in_executor", "run_sync", "partial"})
"""Last names of callables that call their argument with the arguments after it."""
_TRANSPARENT_NAMES = (
    "staticmethod classmethod cache lru_cache cached_property property wraps contextmanager "
    "asynccontextmanager override abstractmethod overload fixture total_ordering final "
    "setter getter cached"
)
_TRANSPARENT = frozenset(_TRANSPARENT_NAMES.split())
"""Decorators with which a function is still called by this module or the project alone."""


def is_transparent(function: Function) -> bool:
    """Return whether no decorator of a function passes its calls to other code, as far as names tell."""
    return all(
        last_name(decorator.func if isinstance(decorator, ast.Call) else decorator) in _TRANSPARENT
        for decorator in function.decorator_list
    )


def effect_of(module: Destinations, call: ast.Call) -> CallEffect:
    """Return what a call does with its arguments."""
    called = call.func
    last, dotted = last_name(called), module.dotted_name(called)
    is_method = isinstance(called, ast.Attribute)
    if is_sleep(dotted) or dotted.startswith("warnings.") or _is_log(module, called, last):
        return "none" if not module.reads_logs or is_sleep(dotted) else "output"
    own = own_functions(module, call)
    if _prints(last, dotted) and not own:
        is_log = dotted == "sys.stderr.write" or _goes_to_stderr(module, call)
        return "none" if is_log and not module.reads_logs else "output"
    if dotted in _ENDING:
        return "output"
    is_of_object = isinstance(called, ast.Attribute) and last_name(called.value) not in module.imported
    if is_of_object and last in FILLING_METHODS | _PUTTING and not own:
        return "fills"
    if own or module.classes_of(last):
        return "own"
    if dotted in ("functools.partial", "functools.partialmethod"):
        return "unknown"
    if dotted in _FILLING:
        return "fills"
    if dotted == last and last in _INERT:
        return "none"
    is_text_method = is_method and last in _TEXT_METHODS
    is_builtin = dotted == last and last in _PURE_BUILTINS and not (last == "type" and len(call.args) > 1)
    is_made = dotted in ("random.Random", "random.SystemRandom") or last.endswith(
        ("Error", "Exception", "Warning")
    )
    if is_text_method or is_builtin or is_made or _is_pure(dotted.rpartition(".")[0]):
        return "computes"
    return "unknown"


def filled_by(module: Destinations, call: ast.Call) -> ast.expr | None:
    """Return the container that a call fills; None where it is not written out."""
    called = call.func
    first = call.args[0] if call.args else None
    if not isinstance(called, ast.Attribute) or last_name(called.value) in module.imported:
        return first  # such as `heapq.heappush(heap, value)`
    by_type = isinstance(called.value, ast.Name) and called.value.id in ("list", "set", "dict", "bytearray")
    return first if by_type and len(call.args) > 1 else called.value


def own_functions(module: Destinations, call: ast.Call) -> list[Function]:
    """Return the functions of the module that a call may call, and the `__init__` of its classes."""
    called = call.func
    if isinstance(called, ast.Attribute) and (
        last_name(called.value) in module.imported or _is_super(called.value)
    ):
        return []  # a function of another module, or of a base
    last = last_name(called)
    functions = [function for function, _ in module.functions.get(last, ())][:_SAME_NAME]
    for found in module.classes_of(last):
        functions += [
            part
            for part in found.body
            if isinstance(part, ast.FunctionDef) and part.name in ("__init__", "__new__")
        ]
    return functions


def _is_super(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and last_name(node.func) == "super"


def parameters_given(function: Function, call: ast.Call, node: ast.AST, keyword: str | None) -> list[str]:
    """Return the parameters of a function that may get an argument of a call.

    Args:
        function: the function.
        call: the call.
        node: the argument.
        keyword: its name, if it is passed by one.
    """
    arguments = function.args
    names = [parameter.arg for parameter in (*arguments.posonlyargs, *arguments.args)]
    if names[:1] in (["self"], ["cls"]):
        names = names[1:]
    every = [parameter.arg for parameter in parameters(arguments)]
    if keyword is not None:
        if keyword in every:
            return [keyword]
        return [] if arguments.kwarg is None else [arguments.kwarg.arg]
    at = next((number for number, argument in enumerate(call.args) if argument is node), None)
    if at is None or any(isinstance(argument, ast.Starred) for argument in call.args[: at + 1]):
        return every  # it is spread, or comes after one that is
    if at < len(names):
        return [names[at]]
    return [] if arguments.vararg is None else [arguments.vararg.arg]


def arguments_for(function: Function, parameter: str, calls: Iterable[ast.Call]) -> Iterator[ast.expr]:
    """Yield what calls of a function pass as one of its parameters."""
    for call in calls:
        for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
            keyword = next((word.arg for word in call.keywords if word.value is argument), None)
            if parameter in parameters_given(function, call, argument, keyword):
                yield argument


def handed_on(call: ast.Call) -> ast.Call | None:
    """Return the call that a thread, a task or a pool makes of what it is given; None for any other call."""
    last = last_name(call.func)
    if last in ("Thread", "Process"):
        given = {keyword.arg: keyword.value for keyword in call.keywords}
        arguments = given.get("args", ast.Tuple([]))
        if call.args or not {"target"} <= given.keys() or not isinstance(arguments, ast.Tuple | ast.List):
            return None
        return ast.Call(given["target"], arguments.elts, []) if "kwargs" not in given else None
    skipped = 1 if last == "run_in_executor" else 0
    if last not in _HANDING_ON or len(call.args) <= skipped:
        return None
    return ast.Call(call.args[skipped], call.args[skipped + 1 :], [])


def has_initialiser(found: ast.ClassDef) -> bool:
    """Return whether the body of a class has an `__init__` or a `__new__`."""
    return any(
        isinstance(part, ast.FunctionDef) and part.name in ("__init__", "__new__") for part in found.body
    )


def field_given(found: ast.ClassDef, call: ast.Call, node: ast.AST, keyword: str | None) -> str | None:
    """Return the field of a class of data that an argument of its call fills; None where that is not known."""
    if keyword is not None:
        return keyword
    fields = [
        statement.target.id
        for statement in found.body
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
    ]
    at = next((number for number, argument in enumerate(call.args) if argument is node), len(fields))
    return fields[at] if at < len(fields) else None


def _is_log(module: Destinations, called: ast.expr, last: str) -> bool:
    """Return whether a call only takes a measurement or a line of a log."""
    if not isinstance(called, ast.Attribute):
        return False
    if last in LOGGING and module.is_logger(called.value):
        return True
    return is_metric(last, last_name(called.value)) and last not in module.functions


def _prints(last: str, dotted: str) -> bool:
    """Return whether a call prints or writes its arguments."""
    return last in _SHOWING or last in _WRITING or dotted in ("sys.stdout.write", "os.write")


def _goes_to_stderr(module: Destinations, call: ast.Call) -> bool:
    """Return whether `print`, or `click.echo`, writes to the standard error."""
    return any(
        (keyword.arg == "file" and module.dotted_name(keyword.value) == "sys.stderr")
        or (keyword.arg == "err" and ast.unparse(keyword.value) == "True")
        for keyword in call.keywords
    )


def _is_pure(module: str) -> bool:
    return module in _PURE_MODULES or any(module.startswith(f"{name}.") for name in _PURE_MODULES)


def sums_counts(call: ast.Call) -> bool:
    """Return whether `sum` adds whole numbers, as far as their form tells: `sum(1 for name in names)`."""
    match call.args:
        case [ast.GeneratorExp(elt=each) | ast.ListComp(elt=each)]:
            return is_count(each)
        case [ast.Call(func=ast.Name(id="map"), args=[ast.Name(id="len" | "int" | "ord"), *_])]:
            return True
    return False


def sorts_keys(call: ast.Call) -> bool:
    """Return whether a call writes a dictionary with sorted keys: `json.dumps(table, sort_keys=True)`."""
    return any(
        keyword.arg == "sort_keys" and isinstance(keyword.value, ast.Constant) and keyword.value.value is True
        for keyword in call.keywords
    )


def filled_in_order(loop: ast.For | ast.AsyncFor) -> Iterator[ast.expr]:
    """Yield the containers that a loop does nothing but append to, or nothing if it does more.

    Only the order of their elements depends on the order of what the loop goes through.
    """
    filled: list[ast.Name] = []
    bound = {part.id for part in ast.walk(loop.target) if isinstance(part, ast.Name)}
    statements = list(loop.body)
    while statements:
        match statements.pop():
            case ast.Expr(
                value=ast.Call(
                    func=ast.Attribute(value=ast.Name() as container, attr="append"),
                    args=[added],
                    keywords=[],
                )
            ) if _only_computes(added, {container.id}):
                filled.append(container)
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if _only_computes(value, set()):
                bound.add(name)
            case ast.If(test=test, body=body, orelse=orelse) if _only_computes(
                test, {one.id for one in filled}
            ):
                statements += [*body, *orelse]
            case ast.Continue() | ast.Pass():
                pass
            case _:
                return
    names = {container.id for container in filled}
    if (
        loop.orelse
        or bound & names
        or any(
            isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load) and part.id in names
            for statement in loop.body
            for part in ast.walk(statement)
            if part not in filled
        )
    ):
        return
    yield from filled


def _only_computes(node: ast.expr, changed: set[str]) -> bool:
    """Return whether an expression asks for nothing that changes meanwhile, and changes nothing itself."""
    return not any(
        (isinstance(part, ast.Call) and last_name(part.func) not in COMPUTING | {"result", "len", "get"})
        or isinstance(part, ast.NamedExpr | ast.Await | ast.Yield | ast.YieldFrom)
        or (isinstance(part, ast.Name) and part.id in changed)
        for part in ast.walk(node)
    )


def numbered_by(statement: ast.stmt, body: list[ast.stmt]) -> ast.expr | None:
    """Return the container that a statement of a loop puts something into which may depend on the number of the turn.

    That is what a call returns, such as `len(table)`, or a variable that the loop counts. None for any other statement.
    """
    counted = {
        last_name(part.target) for each in body for part in ast.walk(each) if isinstance(part, ast.AugAssign)
    }
    match statement:
        case ast.Assign(targets=[target, *_], value=value):
            parts = list(ast.walk(value))
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=target, attr=name)) as call) if (
            name in FILLING_METHODS
        ):
            parts = [part for argument in (*call.args, *call.keywords) for part in ast.walk(argument)]
        case _:
            return None
    is_numbered = any(
        (isinstance(part, ast.Call) and last_name(part.func) not in COMPUTING)
        or (isinstance(part, ast.Name | ast.Attribute) and last_name(part) in counted)
        for part in parts
    )
    return target if is_numbered else None

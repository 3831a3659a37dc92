"""The switch that woven code reads, and the names of what it crosses.

Woven code holds two constants: the `GATE`, whose one item is the `enter` of the handler in force or None, and the
`Point` that says which definition this is. Both hash and compare by identity and pickle by reference, because code
objects that hold them are hashed and, by cloudpickle and its like, pickled.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from autochron._runtime.lazy import import_late_modules
from autochron.effects.undisturbed import undisturbed
from autochron.weaving.delegation import Relay

if TYPE_CHECKING:
    from inspect import Signature

    from autochron.ports import Serving, Token, Transport, WovenHandler
    from autochron.rules.compiled_boundary import CompiledBoundary

THROUGH = frozenset(
    {
        "autochron.weaving.wrapping",
        "autochron.weaving.sites",
        "autochron.detect.watch.patches",
        "autochron.detect.watch.stand_ins",
    }
)
"""Modules whose frames stand between a callee and its caller; tracebacks that are shown or kept leave them out."""


class Gate(deque[Any]):
    """One item: the `enter` of the handler in force, or None.

    Indexed, because that is the cheapest read of shared state that bytecode has (a global would have to live in the
    woven function's own module). A deque and not a list: indexing a subclass of list looks up and calls the method
    `list.__getitem__`, which takes twice as long and, on 3.11, one level of the recursion limit.
    """

    __slots__ = ()
    __hash__ = object.__hash__  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other

    def __reduce__(self) -> str:  # type: ignore[override]
        return "GATE"


GATE = Gate([None])


def switch_on(handler: WovenHandler[Point]) -> None:
    """Put a handler in force: from now on woven code calls it."""
    GATE[0] = handler.enter


def switch_off() -> None:
    """Let woven code run as if it had not been woven; crossings under way end with the handler they began with."""
    GATE[0] = None


def is_on() -> bool:
    """Return whether a handler is in force."""
    return GATE[0] is not None


class Point:
    """A woven definition.

    Attributes:
        module: name of the module that defines it.
        qualname: its qualified name there.
        parameters: names of all parameters, in the order in which their values are handed to the handler.
        variadic: (name of `*args` or None, name of `**kwargs` or None).
        function: `sync`, `coroutine`, `generator` or `async_generator`: what calling it gives.
        file: where it stands, as its code object says.
        line: its first line.
        rules: what fits it, in order of precedence; opaque to weaving.
        passer: the definition to which it was passed as an argument, if it is woven for that.
        signature: for a callable without code, how to bind its arguments.
        transport: the door of an HTTP client through which every request goes, where it is one.
        replaced: the indexes of the parameters that a token may give another value for, before the body runs.
        compiled: what the handler made of the rules, for the next session, too; None before the first call.
        trace: whether each call of it has a trace of its own.
        step: for a method of objects that are followed step by step, its name; it is no boundary.
        called: for a call site, the qualified name of what it calls; its own `qualname` says where it stands.
        captured: for a call site, what names need of its metavariables: by rule id, and then by field of the name.
    """

    __slots__ = (
        "called", "captured", "compiled", "file", "function", "line", "module", "parameters", "passer", "qualname",
        "replaced", "rules",
        "signature", "step", "trace", "transport", "variadic",
    )  # fmt: skip

    def __init__(
        self,
        module: str,
        qualname: str,
        parameters: tuple[str, ...],
        function: str = "sync",
        *,
        variadic: tuple[str | None, str | None] = (None, None),
        file: str = "",
        line: int = 0,
        rules: tuple[Any, ...] = (),
    ) -> None:
        self.module = module
        self.qualname = qualname
        self.parameters = parameters
        self.variadic = variadic
        self.function = function
        self.file = file
        self.line = line
        self.rules = rules
        self.transport: Transport | None = None
        self.replaced: tuple[int, ...] = ()
        self.passer: Point | None = None
        self.trace = False
        self.step = ""
        self.signature: Signature | None = None
        self.called = qualname
        self.captured: dict[str, dict[str, Any]] = {}
        self.compiled: tuple[CompiledBoundary, ...] | None = None
        if rules:  # the program is about to cross something
            with undisturbed():
                import_late_modules()

    def __reduce__(self) -> tuple[Callable[..., Point], tuple[Any, ...]]:
        # In another process the rules are that process's own; without them the point crosses nothing.
        return (Point, (self.module, self.qualname, self.parameters, self.function))

    def __repr__(self) -> str:
        return f"<woven {self.module}:{self.qualname}>"


# What woven code calls on a token. Functions and not method names, because a name would stand in `co_names`, which
# `inspect.getclosurevars` and others read.


def leave(token: Token, value: Any) -> Any:
    """End a crossing that returned."""
    return token.returned(value)


def fail(token: Token, error: BaseException) -> None:
    """End a crossing that raised."""
    token.raised(error)


def substitute(token: Token, argument: Any) -> Any:
    """Return what the body gets for an argument."""
    return token.substituted(argument)


def hand_out(token: Token, item: Any) -> None:
    """Note an item of a stream, before the consumer gets it."""
    token.yielded(item)


def take_back(token: Token, sent: Any) -> None:
    """Note that the consumer of a stream came back, and what it sent: None where it just reads on."""
    if sent is None:
        token.resumed()
    else:
        token.resumed(sent)


def take_thrown(token: Token, error: BaseException) -> None:
    """Note that the consumer of a stream came back with an error."""
    token.resumed(None, error)


def serve(serving: Serving) -> tuple[BaseException | None, Any]:
    """Return what a function that isn't run returns or raises."""
    return serving.outcome()


def serve_async(serving: Serving) -> Any:
    """Return an awaitable of what a coroutine that isn't run returns or raises."""
    return serving.outcome_async()


def serve_items(serving: Serving) -> Any:
    """Return a generator over the items of a stream that isn't run."""
    return serving.items()


def serve_step(serving: Serving, sent: Any) -> Any:
    """Return an awaitable of the next item of an asynchronous stream that isn't run, after what was sent to it."""
    return serving.step_async(sent)


def thrown(serving: Serving, error: BaseException) -> bool:
    """Return whether what was thrown into an asynchronous stream that isn't run leaves it."""
    return serving.thrown(error)


def delegate(token: Token, iterator: Any) -> Any:
    """Stand between a generator and what it delegates to with `yield from`, on Python 3.11.

    There, CPython takes apart the instructions around a delegating yield by their distance when something is thrown in,
    so nothing can be put between them; later versions use the exception table.
    """
    return Relay(token, iterator)

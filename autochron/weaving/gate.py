"""The gate that woven code reads, and the points that it crosses.

Woven code holds two constants. The `GATE` has one item: the `enter` method of the active handler, or None. The `Point`
describes the woven definition. Both hash and compare by identity, because code objects that hold them are hashed. Both
define `__reduce__`, because cloudpickle and similar libraries pickle code objects.
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


class Gate(deque[Any]):
    """A container of one item: the `enter` method of the active handler, or None.

    Woven code indexes it, because that is the cheapest read of shared state in bytecode: a global variable would have to
    live in the woven function's own module. Not a subclass of list: indexing one looks up and calls the method
    `list.__getitem__`, which takes twice as long and, on Python 3.11, one level of the recursion limit.
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
    """Make a handler the active one: from now on woven code calls it."""
    GATE[0] = handler.enter


def switch_off() -> None:
    """Remove the active handler, so that woven code runs as if it had not been woven.

    Crossings that have begun end with the handler that they began with.
    """
    GATE[0] = None


def is_on() -> bool:
    """Return whether a handler is active."""
    return GATE[0] is not None


class Point:
    """The description of a woven definition or a bound call site, for the handler.

    Attributes:
        module: name of the module that defines it.
        qualname: its qualified name; for a call site the site's label.
        parameters: names of all parameters, in the order in which the handler gets their values.
        variadic: (name of `*args` or None, name of `**kwargs` or None).
        function: what a call returns: `sync`, `coroutine`, `generator` or `async_generator`.
        file: its file, as the code object has it.
        line: its first line.
        rules: the rules that fit it, in order of precedence; opaque to weaving.
        passer: the definition that got this function as an argument, if it is woven for that reason.
        signature: for a callable without a code object, the signature that binds its arguments.
        transport: the HTTP client's door, if this is the function that all requests of the client pass through.
        replaced: indexes of the parameters whose value the token may replace before the body runs.
        compiled: the compiled rules, which later sessions use, too; None before the first call.
        trace: whether each call has a trace of its own.
        step: for a method of an object that is followed step by step, the method's name; such a point is no boundary.
        called: for a call site, the qualified name of the callee.
        unfitting: for a callable with a signature, the point of calls that it doesn't fit; None before the first.
        captured: for a call site, the metavariables' values that the crossing's name needs: by rule id, then by field.
    """

    __slots__ = (
        "called", "captured", "compiled", "file", "function", "line", "module", "parameters", "passer", "qualname",
        "replaced", "rules",
        "signature", "step", "trace", "transport", "unfitting", "variadic",
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
        self.unfitting: Point | None = None
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


# Woven code calls these functions with a token. Not the token's methods: their names would be in `co_names`, which
# `inspect.getclosurevars` and others read.


def leave(token: Token, value: Any) -> Any:
    """End a crossing whose body returned, and return the value for the caller."""
    return token.returned(value)


def fail(token: Token, error: BaseException) -> None:
    """End a crossing whose body raised an error."""
    token.raised(error)


def substitute(token: Token, argument: Any) -> Any:
    """Return the value that the body gets in place of an argument."""
    return token.substituted(argument)


def hand_out(token: Token, item: Any) -> None:
    """Report an item that a stream yields, before the consumer gets it."""
    token.yielded(item)


def take_back(token: Token, sent: Any) -> None:
    """Report that the consumer resumed a stream, and the value that it sent; None for a plain `next`."""
    if sent is None:
        token.resumed()
    else:
        token.resumed(sent)


def take_thrown(token: Token, error: BaseException) -> None:
    """Report that the consumer of a stream threw an error into it."""
    token.resumed(None, error)


def serve(serving: Serving) -> tuple[BaseException | None, Any]:
    """Return (error, value) for a served call: the function raises the error, or returns the value if it is None."""
    return serving.outcome()


def serve_async(serving: Serving) -> Any:
    """Return an awaitable of (error, value) for a served coroutine."""
    return serving.outcome_async()


def serve_items(serving: Serving) -> Any:
    """Return a generator of a served generator's items, whose own return value is (error, value)."""
    return serving.items()


def serve_step(serving: Serving, sent: Any) -> Any:
    """Return an awaitable of a served asynchronous generator's next step, after `sent` was sent to it.

    The step is (done, error, item).
    """
    return serving.step_async(sent)


def thrown(serving: Serving, error: BaseException) -> bool:
    """Return whether an error that was thrown into a served asynchronous generator propagates out of it."""
    return serving.thrown(error)


def delegate(token: Token, iterator: Any) -> Any:
    """Return a relay that wraps the iterator of a `yield from`; Python 3.11 only.

    When an error is thrown in, CPython 3.11 finds the instructions around a delegating yield by their distance, so no
    instruction can be inserted between them. Later versions use the exception table.
    """
    return Relay(token, iterator)

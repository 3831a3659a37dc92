"""Mark boundaries by hand, by a decorator or by a proxy for one client."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar, overload

from autochron._runtime.unpatched import getframe
from autochron.errors import UsageError
from autochron.model import KINDS, BoundaryRule, Kind, Place, Target
from autochron.weaving.ledger import Ledger
from autochron.weaving.weave import Mark, weave_function

_F = TypeVar("_F", bound=Callable[..., Any])

marked = Ledger()
"""What was marked by hand, and what could not be woven and why."""


@overload
def boundary(name: _F, /) -> _F: ...
@overload
def boundary(
    name: str | None = None, *, kind: Kind = "tool", state: str | None = None
) -> Callable[[_F], _F]: ...
def boundary(name: Any = None, *, kind: Kind = "tool", state: str | None = None) -> Any:
    """Make a function a boundary, without a rule.

    Use it as `@autochron.boundary`, or as `@autochron.boundary("place_order", kind="tool")`, also on a method. The function
    stays the same object. Its calls are recorded or served while a recording or a replay is under way; at other times the
    function runs as before.

    Args:
        name: the name of its crossings; default the function's name. It may be a template, such as `order_{symbol}`, with
            the function's parameters, as in a rule. Without parentheses, it is the function itself.
        kind: `model`, `tool`, `router` or `ambient`.
        state: a name for the state that it shares with other boundaries, such as `ledger`. Where a later crossing of this
            state is live in a replay, this one runs, too, so that its effects are there.

    Returns:
        The function itself; with arguments a decorator that returns it.

    Raises:
        UsageError: the kind is unknown, the state or the name is invalid, or the decorated object is no function written in
            Python.
    """
    if kind not in KINDS:
        raise UsageError(f"boundary(kind={kind!r}): a kind is one of {', '.join(KINDS)}")
    if state is not None and not state.strip():
        raise UsageError(f'boundary(state={state!r}): name the state that tools share, such as "ledger"')
    if callable(name) and not isinstance(name, str):
        return _mark(name, None, kind, state)
    return lambda function: _mark(function, name, kind, state)


def _mark(function: Any, name: str | None, kind: Kind, state: str | None) -> Any:
    inner = function.__func__ if isinstance(function, staticmethod | classmethod) else function
    if not isinstance(inner, FunctionType):
        raise UsageError(
            f"@autochron.boundary on {type(function).__qualname__}: it marks functions written in Python; for anything else "
            "use a [[boundary]] rule with `target`, or autochron.wrap(client)"
        )
    if name is not None:
        try:
            from autochron.rules.names import name_template  # lazy: few programs mark anything by hand

            name_template(name)
        except ValueError as error:
            raise UsageError(f"@autochron.boundary({name!r}): the name {error}") from None
    code = inner.__code__
    rule = BoundaryRule(
        id=f"@{inner.__module__}:{inner.__qualname__}",
        name="{__name__}" if name is None else name,
        kind=kind,
        selector=Target(inner.__module__, inner.__qualname__),
        place=Place(code.co_filename, code.co_firstlineno),
        state=state,
    )
    weave_function(inner, Mark((rule,)), marked)
    return function


def wrap(client: Any, name: str | None = None, *, kind: Kind = "model") -> Any:
    """Make the calls of one client boundaries: `client = autochron.wrap(Broker())`.

    Args:
        client: any object.
        name: the first part of the names of its crossings; default the name of its class in lower case.
        kind: the kind of its crossings: `model`, `tool`, `router` or `ambient`.

    Returns:
        A proxy. The calls of its public methods are crossings, also those of the objects that are its attributes. They are
        named by their path, such as `broker.orders.create`. A client of a library that a shipped pack covers is returned
        as it is, because the pack covers the calls of all its clients.

    Raises:
        UsageError: the kind is unknown.
    """
    if kind not in KINDS:
        raise UsageError(f"wrap(kind={kind!r}): a kind is one of {', '.join(KINDS)}")
    from autochron.rules.packs import packs_of  # lazy: as above

    if packs_of(type(client).__module__):
        return client
    from autochron.weaving import wrapping  # lazy: it imports wrapt

    frame = getframe(1)
    place = Place(frame.f_code.co_filename, frame.f_lineno)
    owner = type(client)

    def rules(path: str) -> tuple[BoundaryRule, ...]:
        target = Target(owner.__module__, owner.__qualname__)
        return (BoundaryRule(id=f"wrap:{path}", name=path, kind=kind, selector=target, place=place),)

    return wrapping.wrap_client(client, name or owner.__name__.lower(), rules)

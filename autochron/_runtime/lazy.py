"""Import a module, or make a pattern or a decoder, when it is first used.

A program that crosses nothing needs a third of our modules, and most runs use a few of our patterns. To import and to make
all of them took 35 ms of every start.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, AnyStr, TypeVar

from msgspec.json import Decoder

T = TypeVar("T")


class _Late:
    """Stands for what is made late; what is asked of it is kept, so that the next time takes no detour."""

    def __init__(self, make: Callable[..., Any], *given: Any) -> None:
        self._make = (make, given)

    def __getattr__(self, name: str) -> Any:
        make, given = self._make
        value = getattr(make(*given), name)
        setattr(self, name, value)
        return value


class _LateModule:
    """Stands in a module's namespace for another module, until something of that is used."""

    __slots__ = ("_key", "_module", "_namespace")

    def __init__(self, namespace: dict[str, Any], key: str, module: str) -> None:
        self._namespace, self._key, self._module = namespace, key, module

    def __getattr__(self, name: str) -> Any:
        module = self._namespace[self._key] = import_module(self._module)
        return getattr(module, name)


_awaited: list[str] = []
"""Modules that `late_modules` has put off."""


def late_modules(namespace: dict[str, Any], *modules: str, **named: str) -> None:
    """Import modules when something of them is first used, each under the last part of its name or the one that is given.

    The names stand in the namespace of a module of ours, which imports the same under `TYPE_CHECKING`. What stands for a
    module makes room for it, so later uses take no detour.
    """
    for key, module in (*((each.rpartition(".")[2], each) for each in modules), *named.items()):
        if module in sys.modules:
            namespace[key] = sys.modules[module]
        else:
            _awaited.append(module)
            namespace[key] = _LateModule(namespace, key, module)


def late_module(namespace: dict[str, Any], module: str) -> None:
    """Import a module when something of it is first used, and never before: most programs that are recorded do without."""
    key = module.rpartition(".")[2]
    namespace[key] = sys.modules.get(module) or _LateModule(namespace, key, module)


def import_late_modules() -> None:
    """Import all that was put off: something is woven, so the program is about to need it.

    This happens while the program imports, and not amid its work, where it may have replaced what imports take.
    """
    while _awaited:
        import_module(_awaited.pop())


def late(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return a pattern that is compiled when it is first used."""
    return _Late(re.compile, pattern, flags)  # type: ignore[return-value]  # does all that a pattern does


def late_decoder(wanted: type[T]) -> Decoder[T]:
    """Return a decoder of JSON that is made when it is first used: it looks at every field of a type, and of theirs."""
    return _Late(Decoder, wanted)  # type: ignore[return-value]  # does all that a decoder does


def late_message_decoder(wanted: Any) -> Any:
    """Return such a decoder of MessagePack."""
    return _Late(_message_decoder, wanted)


def _message_decoder(wanted: Any) -> Any:
    from msgspec.msgpack import Decoder as MessageDecoder  # lazy: few processes need one

    return MessageDecoder(wanted)

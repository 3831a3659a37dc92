"""Import a module, compile a pattern or make a decoder when it is first used.

A program without crossings needs a third of our modules, and most runs use few of our patterns. All of them together took
35 ms of every start.
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
    """Stands for an object that is made on first use. Attributes are kept, so later uses take no detour."""

    def __init__(self, make: Callable[..., Any], *arguments: Any) -> None:
        self._make = (make, arguments)

    def __getattr__(self, name: str) -> Any:
        make, arguments = self._make
        value = getattr(make(*arguments), name)
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
"""Modules that `late_modules` has not imported yet."""


def late_modules(namespace: dict[str, Any], *modules: str, **named: str) -> None:
    """Import modules when an attribute of them is first used, or with `import_late_modules`.

    The stand-in for a module replaces itself in the namespace, so later uses take no detour.

    Args:
        namespace: the globals of the importing module, which has the same imports under `TYPE_CHECKING`.
        modules: names of modules, each bound to the last part of its name.
        named: names of modules by the name to bind.
    """
    for key, module in (*((name.rpartition(".")[2], name) for name in modules), *named.items()):
        if module in sys.modules:
            namespace[key] = sys.modules[module]
        else:
            _awaited.append(module)
            namespace[key] = _LateModule(namespace, key, module)


def late_module(namespace: dict[str, Any], module: str) -> None:
    """Import a module when an attribute of it is first used; unlike `late_modules`, `import_late_modules` leaves it alone."""
    key = module.rpartition(".")[2]
    namespace[key] = sys.modules.get(module) or _LateModule(namespace, key, module)


def import_late_modules() -> None:
    """Import all modules of `late_modules`, because something is woven and the program is about to need them.

    This runs while the program imports its modules. Later it may have replaced functions that imports use.
    """
    while _awaited:
        import_module(_awaited.pop())


def late(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return a pattern that is compiled when it is first used."""
    return _Late(re.compile, pattern, flags)  # type: ignore[return-value]  # it has all attributes of a pattern


def late_decoder(wanted: type[T]) -> Decoder[T]:
    """Return a JSON decoder that is made when it is first used, because it inspects every field of a type recursively."""
    return _Late(Decoder, wanted)  # type: ignore[return-value]  # it has all attributes of a decoder


def late_message_decoder(wanted: Any) -> Any:
    """Return a MessagePack decoder that is made when it is first used."""
    return _Late(_message_decoder, wanted)


def _message_decoder(wanted: Any) -> Any:
    from msgspec.msgpack import Decoder as MessageDecoder  # lazy: few processes need one

    return MessageDecoder(wanted)

"""The canonical form of inputs: it is compared and shown, and never decoded into values.

Where possible it is one encode in C, with keys and sets sorted, so that equal values have equal texts. Types that JSON
doesn't have are written as people would: a tuple as a list, a date as text, a model as its fields, a plain object of
the user's own as its attributes (see `objects`), any other object by its type. It never has an address or a `repr`. NaN
and the infinities are null below the top level. What the text leaves out, types above all, stands beside it (see
`value_types`): equal texts mean equal values.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from math import isfinite
from typing import Any

import msgspec

from autochron._runtime.bare import identity, key_text, slot
from autochron._runtime.signals import is_interruption
from autochron.envelope import objects, shapes
from autochron.envelope.budget import (
    MOST_VISITS,
    TooLargeError,
    count_shown,
    encode_within,
    max_containers,
    max_numbered,
)
from autochron.envelope.cycle_search import find_cycles
from autochron.envelope.cycles import CycleError, Cycles, reference
from autochron.envelope.cyclic_classes import contains_itself, note
from autochron.envelope.plain_forms import opaque_form, plain_form, walked_form
from autochron.envelope.plain_json import PLAIN_TYPES, is_plain
from autochron.envelope.screening import CONTAINERS, met_unsafe, screen
from autochron.envelope.tags import has_tag
from autochron.envelope.type_trees import BEYOND, TYPES
from autochron.envelope.value_types import types_of
from autochron.model import InputForm

_MAX_DEPTH = 100
_DOLLAR = ord("$")
_LARGE = 1 << 16
"""Bytes from which on a copy costs more than a view."""
_CYCLE_TEXT = b'{"$cycle":'
_DEEP = {"$deep": True}
_DEEP_TEXT = b'{"$deep":true}'
_MOST_OF_STATE = 200_000
"""Containers in the state of one argument that are opened, at most."""
BEYOND_TREE = {BEYOND: True}
TOO_LARGE = b'{"$beyond":true}'
"""The canonical form of a value that has too many parts to be read."""


def _hook(value: Any) -> Any:
    """Return plain data for what msgspec has no form for."""
    count_shown()
    form = plain_form(value)
    if type(form) in CONTAINERS:
        screen(form)
    return form


def _hook_with_marks(value: Any) -> Any:
    """Return plain data as `_hook` does, for forms that have no numbers."""
    count_shown()
    form = walked_form(value, None, marks=True)
    if type(form) in CONTAINERS:
        screen(form)
    return form


_sorting = msgspec.json.Encoder(enc_hook=_hook, order="deterministic")
_marking = msgspec.json.Encoder(enc_hook=_hook_with_marks, order="deterministic")
encode_sorted = _sorting.encode
"""Write a screened value with its keys sorted. It raises where the value has to be walked."""

_snapshots = msgspec.msgpack.Encoder(enc_hook=_hook)
_to_snapshot = _snapshots.encode
_json_snapshots = msgspec.json.Encoder(enc_hook=_hook)
_EXTENSION = 0xFF
# The first bytes of a moment in MessagePack, for each of its three sizes.
_MOMENTS = (b"\xd6\xff", b"\xd7\xff", b"\xc7\x0c\xff")


def encode_snapshot(value: Any) -> bytes:
    """Write a snapshot of a screened value, to be compared only with another snapshot.

    The format is MessagePack, which copies strings and doesn't escape them: for a conversation that takes half the time
    of JSON. But it has no time zones, so a value that may hold a moment is written as JSON. A text never has the byte
    that is tested.

    Raises:
        TooLargeError: the value has too many parts to be read.
        Exception: the encoder can't write the value, so it has to be walked.
    """
    data = encode_within(_snapshots, value, plain_form)
    if _EXTENSION in data and any(sign in data for sign in _MOMENTS):
        return _json_snapshots.encode(value)
    return data


def needs_limit(body: bytes) -> bool:
    """Return whether a canonical input has an argument that is too large or too deep to be written, or contains itself.

    `snapshot` would write such an argument without a limit.
    """
    if _CYCLE_TEXT in body or _DEEP_TEXT in body:
        return True
    return body.startswith(TYPES) and TOO_LARGE in body


def encode_screened(value: Any, form: InputForm = InputForm.NUMBERED) -> bytes:
    """Write a screened value with its keys sorted; it raises where the value multiplies or has to be walked."""
    return encode_within(_sorting if form == InputForm.NUMBERED else _marking, value, plain_form)


def canonical(
    parameters: Sequence[str], values: Sequence[Any], *, form: InputForm = InputForm.NUMBERED
) -> bytes:
    """Write the bound arguments of a call as one JSON object, sorted by parameter, with the types that JSON lacks.

    Args:
        parameters: the names of the parameters.
        values: their arguments, in the same order.
        form: the form of the object; that of older traces, to compare with their inputs.
    """
    bound = {}
    index = 0
    for value in values:  # `dict(zip(…))` takes twice as long for so few arguments
        bound[parameters[index]] = value
        index += 1  # noqa: SIM113 - see above
    try:
        for value in values:
            if type(value) not in PLAIN_TYPES and not is_plain(value):
                break
        else:  # all is plain: there is nothing to screen
            body = encode_sorted(bound)
            return _with_tree(bound, body, form) if _DOLLAR in body and form and has_tag(body) else body
        if not any(type(value) is float and not isfinite(value) for value in values) and (
            form < InputForm.NUMBERED or not contains_itself(values)
        ):
            screen(bound)
            body = encode_screened(bound, form)
            return _with_tree(bound, body, form) if form else body
    except TooLargeError:
        return _without_large(bound, form)
    except Exception as error:
        if is_interruption(error):
            raise
    try:
        body = _walked(bound, form)
    except TooLargeError:
        return _without_large(bound, form)
    return _with_tree(bound, body, form) if form else body


def _without_large(bound: dict[str, Any], form: InputForm) -> bytes:
    """Write the arguments without those that are too large, which are written by their types."""
    writable = {
        name: opaque_form(value) if _is_too_large(value, form) else value for name, value in bound.items()
    }
    body = _encode_walked(writable, form)
    if not form:
        return body
    if form == InputForm.NUMBERED and body == TOO_LARGE:  # the arguments are only too large together
        return _with_types(body, TOO_LARGE)
    beyond = {name: BEYOND_TREE for name, value in bound.items() if writable[name] is not value}
    rest = {name: value for name, value in bound.items() if writable[name] is value}
    try:
        tree = msgspec.json.decode(types_of(rest, StateWalk, form) or b"{}")
    except Exception as error:
        if is_interruption(error):
            raise
        return _with_types(body, b'{"$beyond":true}')
    return _with_types(body, msgspec.json.encode({**tree, **beyond}, order="deterministic"))


def _is_too_large(value: Any, form: InputForm) -> bool:
    try:
        _walked(value, form)
    except TooLargeError:
        return True
    except Exception as error:
        if is_interruption(error):
            raise
    return False


def with_types(bound: dict[str, Any], body: bytes, form: InputForm, *, plain: bool) -> bytes:
    """Add to the text of arguments the types that it does not have.

    Args:
        bound: the arguments by parameter.
        body: their canonical form, without types.
        form: the form of the input.
        plain: whether the arguments are known to be plain JSON.
    """
    # A string that begins like a tag is rare, and may be a key that forges one.
    if plain and not has_tag(body):
        return body
    return _with_tree(bound, body, form)


def _with_tree(bound: dict[str, Any], body: bytes, form: InputForm) -> bytes:
    try:
        tree = types_of(bound, StateWalk, form)
    except Exception as error:
        if is_interruption(error):
            raise
        tree = b'{"$beyond":true}'  # reading an object of the program raised
    return _with_types(body, tree) if tree else body


def _with_types(body: bytes, tree: bytes) -> bytes:
    rest = body[1:] if len(body) < _LARGE else memoryview(body)[1:]
    return b"".join((TYPES, tree, b"," if len(body) > 2 else b"", rest))


def snapshot(value: Any) -> bytes:
    """Write a value that was written before, to detect later whether it was changed.

    Equal snapshots mean equal canonical forms, at a third of the cost. Different snapshots mean nothing.
    """
    # The value was screened when it was written. Only an unsafe object that was added since would be missed.
    if met_unsafe[0] or "sqlalchemy.orm" in sys.modules:  # `screening._looks_deep`, inlined for the hot path
        return screened_snapshot(value)
    try:
        data = _to_snapshot(value)  # without the limit of `encode_snapshot`: the value was written before
        if _EXTENSION not in data:
            return data
        return encode_snapshot(value)
    except TooLargeError:
        return TOO_LARGE
    except Exception as error:
        if is_interruption(error):
            raise
        return _encode_walked(value)


def screened_snapshot(value: Any) -> bytes:
    """Return a snapshot of a value that was not written before."""
    if contains_itself((value,)):
        return _encode_walked(value)
    try:
        screen((value,))
        return encode_snapshot(value)
    except TooLargeError:
        return TOO_LARGE
    except Exception as error:
        if is_interruption(error):
            raise
        return _encode_walked(value)


def _walked(value: Any, form: InputForm = InputForm.NUMBERED) -> bytes:
    """Write a value by way of the walk.

    Raises:
        TooLargeError: the value has too many parts.
    """
    marks = form < InputForm.NUMBERED
    open_ = _Open(MOST_VISITS, marks=marks)
    try:
        data = _walk(value, open_)
        if open_.is_deep and not marks:  # a cycle of so many parts has no number
            note(find_cycles(value), value)
    except CycleError:
        cycles = find_cycles(value)
        note(cycles, value)
        data = _walk(value, _Open(max_numbered(cycles), cycles, marks=True))
    except TooLargeError:
        if not marks and (cycles := find_cycles(value)).parts:
            data = _walk(value, _Open(max_numbered(cycles), cycles, marks=True))
        else:
            data = _walk(value, _Open(max_containers(value, plain_form), marks=True))
    return msgspec.json.encode(data, order="deterministic")


def _encode_walked(value: Any, form: InputForm = InputForm.NUMBERED) -> bytes:
    try:
        return _walked(value, form)
    except TooLargeError:
        return TOO_LARGE
    except Exception as error:
        if is_interruption(error):
            raise
        return msgspec.json.encode({"$unreadable": type(error).__name__})


# --- the fallback: a walk in Python --------------------------------------------------------------------------------


class _Open(set[int]):
    """The containers that are open.

    Attributes:
        left: how many more may be opened; numbers are counted, too.
        depth: the levels around the value that is walked.
        cycles: the parts that lie on a cycle, if they were searched.
        is_deep: whether a part was left out, since it is too deep.
        marks: whether a mark stands for a part that contains itself and has no number.
    """

    __slots__ = ("cycles", "depth", "is_deep", "left", "marks")

    def __init__(self, left: int, cycles: Cycles | None = None, *, depth: int = 0, marks: bool) -> None:
        super().__init__()
        self.depth = depth
        self.left = left
        self.cycles = cycles
        self.is_deep = False
        self.marks = marks

    def items(self, pairs: Iterable[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
        """List the items of a dictionary; where parts have numbers, in an order that equal dictionaries share."""
        return list(pairs) if self.cycles is None else sorted(pairs, key=_key_of)


class StateWalk:
    """Writes the values of one argument's state as plain data. They share the numbers of parts on cycles.

    Attributes:
        cycles: the parts that lie on a cycle, if they were searched.
        depth: the levels around the next value.
    """

    __slots__ = ("_left", "_marks", "cycles", "depth")

    def __init__(self, cycles: Cycles | None, *, marks: bool) -> None:
        self.cycles = cycles
        self.depth = 0
        self._left = _MOST_OF_STATE if cycles is None else max_numbered(cycles)
        self._marks = marks

    def __call__(self, value: Any) -> Any:
        """Return a value as plain data.

        Raises:
            CycleError: it contains itself, and has to have numbers.
            TooLargeError: too many containers were opened.
        """
        if self._marks and self.cycles is None:
            return _walk(value, _Open(MOST_VISITS, marks=True))
        most = self._left if self.cycles is not None else min(MOST_VISITS, self._left)
        open_ = _Open(most, self.cycles, depth=self.depth, marks=self._marks)
        before = open_.left
        data = _walk(value, open_)
        self._left -= before - open_.left
        return data


def _key_of(pair: tuple[Any, Any]) -> str:
    return pair[0] if type(pair[0]) is str else key_text(pair[0])


def _walk(value: Any, open_: _Open) -> Any:
    """Return a value as plain data that msgspec can write, whatever the value holds."""
    kind = type(value)
    if kind is str:
        return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode()
    if value is None or kind is bool:
        return value
    if kind is int:
        return value if -(2**63) <= value < 2**64 else {"$int": hex(value)}
    if kind is float:
        return value if isfinite(value) else {"$float": float.__repr__(value)}
    key = identity(value)
    if open_.cycles is not None and (number := open_.cycles.number_of(key)) is not None:
        open_.left -= 1
        return reference(number)
    if key in open_:
        if open_.marks:
            return objects.MARK
        raise CycleError
    if len(open_) + open_.depth >= _MAX_DEPTH:
        open_.is_deep = True
        return _DEEP
    open_.left -= 1
    if open_.left < 0:
        raise TooLargeError
    open_.add(key)
    try:
        return _walk_inside(value, open_)
    finally:
        open_.discard(key)


def _walk_inside(value: Any, open_: _Open) -> Any:
    kind = type(value)  # `isinstance` would ask the object for its `__class__`
    if issubclass(kind, dict):
        return _walk_pairs(open_.items(dict.items(value)), open_)
    if issubclass(kind, (list, tuple)):
        base: Any = list if issubclass(kind, list) else tuple
        return [_walk(item, open_) for item in base.__iter__(value)]
    if issubclass(kind, (set, frozenset)):
        base = set if issubclass(kind, set) else frozenset
        return sorted((_walk_apart(item, open_) for item in base.__iter__(value)), key=msgspec.json.encode)
    if kind is msgspec.Raw:
        return value
    if issubclass(kind, msgspec.Struct):
        fields = ((name, slot(value, name)) for name in shapes.struct_fields(kind))
        return {name: _walk(item, open_) for name, item in open_.items(fields)}
    if shapes.is_record(kind):
        attributes = shapes.attributes(value, shapes.slots_of(kind))
        left_out = objects.derived(kind) | {"_sa_instance_state"}
        return _walk({key: item for key, item in attributes.items() if key not in left_out}, open_)
    try:
        return msgspec.json.decode(msgspec.json.encode(value))  # dates, UUIDs, Decimals, bytes, plain enums
    except Exception as error:
        if is_interruption(error):
            raise
        return _walk(walked_form(value, open_.cycles, marks=open_.marks), open_)


def _walk_pairs(items: list[tuple[Any, Any]], open_: _Open) -> Any:
    keys = [(_walk_apart(key, open_), item) for key, item in items]
    if all(type(key) is str for key, _ in items):
        return {key: _walk(item, open_) for key, item in keys}
    if open_.cycles is not None:  # the numbers in the values follow the keys as they are written
        keys.sort(key=_text_of_key)
    return {"$dict": sorted(([key, _walk(item, open_)] for key, item in keys), key=_text_of_key)}


def _text_of_key(pair: Sequence[Any]) -> bytes:
    return msgspec.json.encode(pair[0])


def _walk_apart(value: Any, open_: _Open) -> Any:
    """Return a value as plain data to which no other part refers."""
    if open_.cycles is None or type(value) is str:
        return _walk(value, open_)
    with open_.cycles.apart():
        return _walk(value, open_)

"""What a search for the destinations of values knows so far."""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterable
from typing import TypeAlias

from autochron.detect.scan.call_effects import ORDERLESS, field_given, has_initialiser, numbered_by
from autochron.detect.scan.container_aliases import holders_of
from autochron.detect.scan.destinations import Destinations, Kind, ReachedPlace, is_of_self, root_of
from autochron.detect.scan.flow import last_name, names_element, position_of
from autochron.detect.scan.value_uses import FILLING_METHODS

Mode: TypeAlias = str
"""What of an expression depends on the source.

- `value`: all of it.
- `order`: only the order of its elements; `keys`: of its keys.
- `key`: its keys.
- `object`: an attribute.
- `token`: it only tells things apart; `tokens`, `token-set`: it holds such. See `tokens`.
- `field NAME`, `token-field NAME`: only what a dictionary has under that key, also in a list of such dictionaries; with the
  second one a token. See `dictionary_fields`.
"""
FIELD, TOKEN_FIELD = "field ", "token-field "
TOKEN_MODES = frozenset({"token", "tokens", "token-set"})

_NAMED = 8
"""The most callees of a kind that are named for one source."""

_Step: TypeAlias = tuple[ast.AST, Mode, tuple[int, ...]]
"""An expression, what of it depends on the source, and the lines on the way."""


class DestinationState:
    """The expressions that have been followed, the ones to follow, and what was reached."""

    def __init__(self, module: Destinations, starts: Iterable[ast.AST], mode: Mode) -> None:
        self.module = module
        self._pending: deque[_Step] = deque()
        self._seen: set[tuple[ast.AST, Mode]] = set()
        self._found: dict[tuple[str, str], ReachedPlace] = {}
        self._path: tuple[int, ...] = ()
        self.mode: Mode = mode
        self.is_left_to_others = False
        """Whether a private name has the value by which the rest of a package may get it."""
        for start in starts:
            self._begin(start)

    @property
    def _is_order(self) -> bool:
        """Whether only an order depends on the source."""
        return self.mode in ("order", "keys")

    def _begin(self, start: ast.AST) -> None:
        """Follow the call that makes something of an order, such as `sorted` with ties; else the expression itself."""
        self._path, parent = (), self.module.parents.get(start)
        if self.mode == "order" and (
            (isinstance(parent, ast.Attribute) and parent.attr in FILLING_METHODS)
            or (isinstance(parent, ast.Subscript) and isinstance(parent.ctx, ast.Store))
            or (isinstance(parent, ast.AugAssign) and parent.target is start)
        ):
            self._path = (getattr(start, "lineno", 0),)
            self.push_container(start, "keys" if isinstance(parent, ast.Subscript) else "order")
            return
        if self.mode == "order" and isinstance(parent, ast.Call) and last_name(parent.func) == "shuffle":
            self._path = (getattr(start, "lineno", 0),)
            self.push_container(start, "order")
        elif (
            self.mode == "order"
            and isinstance(parent, ast.Call)
            and parent.func is not start
            and last_name(parent.func) in ORDERLESS
        ):
            modes: dict[str, Mode] = {"sorted": "order", "dict": "keys", "Counter": "keys"}
            self.push(parent, modes.get(last_name(parent.func), "value"))
        else:
            self.push(start)

    def push(self, node: ast.AST, mode: Mode | None = None) -> None:
        mode = mode or self.mode
        if (node, mode) in self._seen:
            return
        self._seen.add((node, mode))
        if self.module.is_tried(node):
            self._reach("branch", node)  # an exception that is handled
        line = getattr(node, "lineno", 0)
        path = self._path if not line or line in self._path[-1:] else (*self._path, line)
        self._pending.append((node, mode, path))

    def push_all(self, nodes: Iterable[ast.AST], mode: Mode | None = None) -> None:
        for node in nodes:
            self.push(node, mode)

    def _reach(self, kind: Kind, node: ast.AST, name: str = "", callee: ast.expr | None = None) -> None:
        key = (kind, name if kind in ("call", "own") else "")
        if key in self._found or (key[1] and sum(found == kind for found, _ in self._found) >= _NAMED):
            return
        line = getattr(node, "lineno", 0) or (self._path[-1] if self._path else 1)
        path = self._path if line in self._path[-1:] else (*self._path, line)
        position = None if callee is None else position_of(callee)
        self._found[key] = ReachedPlace(kind, line, name, position, path)

    def _reach_public(self, node: ast.AST, name: str) -> None:
        """Note that other modules may use a name. A program is seldom imported; whether it is, the module doesn't tell."""
        self._reach("public" if self.module.is_program else "elsewhere", node, name)

    def begin_field(self, parent: ast.Dict, node: ast.AST) -> bool:
        """Follow a dictionary that has the node under a key; return whether that key is written out."""
        for key, value in zip(parent.keys, parent.values, strict=True):
            if value is node and isinstance(key, ast.Constant) and isinstance(key.value, str):
                self.push(parent, f"{TOKEN_FIELD if self.mode == 'token' else FIELD}{key.value}")
                return True
        return False

    def push_container(self, container: ast.AST, mode: Mode) -> None:
        """Follow a container that gets the value; as a key, it shows only where the container is iterated or shown."""
        held = holders_of(self.module, container)
        root = root_of(container)
        self.is_left_to_others |= isinstance(root, ast.Name) and self.module.is_global(root)
        self.push_all(held.reads, mode)
        if held.escapes is not None:
            self._reach("elsewhere", container, held.escapes)
        elif held.public is not None:
            self._reach_public(container, held.public)

    # --- loops ---------------------------------------------------------------------------------------------------------

    def is_bound_after(self, loop: ast.For | ast.AsyncFor) -> bool:
        """Return whether a name that a loop binds is read elsewhere, where it has what the last turn gave it."""
        inside = range(loop.lineno, (loop.end_lineno or loop.lineno) + 1)
        return any(
            getattr(load, "lineno", 0) not in inside
            for part in ast.walk(loop)
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
            for load in self.module.loads_of(part)
        )

    def number(self, body: list[ast.stmt]) -> None:
        """Follow what the turns of a loop put into containers: it may depend on their number, as `len(table)` does."""
        for statement in body:
            if container := numbered_by(statement, body):
                self.push_container(container, "value")

    # --- assignments --------------------------------------------------------------------------------------------------

    def bind(self, target: ast.AST, mode: Mode | None = None) -> None:
        """Follow what is assigned the value."""
        module = self.module
        match target:
            case ast.Name():
                if module.is_in_class(target):
                    self._attribute_bound(target.id, target, mode)
                    if not target.id.startswith("_"):
                        # Comparing, hashing and showing an instance reads its fields.
                        self._reach("elsewhere", target, target.id)
                    return
                loads = module.loads_of(target)
                self.push_all(loads, mode)
                self.is_left_to_others |= module.is_global(target)
                if not loads and module.is_global(target) and not target.id.startswith("_"):
                    self._reach_public(target, target.id)
            case ast.Attribute():
                self._attribute_bound(target.attr, target, mode)
                if not is_of_self(target):
                    self._reach("elsewhere", target, target.attr)
            case ast.Subscript():
                mode = mode or self.mode
                if mode.startswith((FIELD, TOKEN_FIELD)):
                    mode = "value"  # the table may have the dictionary under any key
                self.push_container(target, "tokens" if mode == "token" else mode)
            case ast.Tuple() | ast.List():
                for part in target.elts:
                    self.bind(part, mode)
            case ast.Starred():
                self.bind(target.value, mode)
            case _:
                pass

    def _attribute_bound(self, name: str, node: ast.AST, mode: Mode | None) -> None:
        loads = self.module.loads_of_attribute(name)
        self.push_all(loads, mode)
        if not loads and name.endswith("__"):
            self._reach("elsewhere", node, name)  # a library reads it
        elif not loads and not name.startswith("_"):
            self._reach_public(node, name)
        self.is_left_to_others |= name.startswith("_")

    def fill_field(self, found: ast.ClassDef, call: ast.Call, node: ast.AST, keyword: str | None) -> None:
        """Follow an argument of a class that has no `__init__` to the field that it fills."""
        if has_initialiser(found):
            return
        name = field_given(found, call, node, keyword)
        if name is None:
            self.push(call, "value")
        else:
            self.push_all(self.module.loads_of_attribute(name))
            self.push(call, "object")


def mode_of_table(whole: ast.AST, each: ast.comprehension) -> Mode | None:
    """Return what of a dictionary depends on the order: that of its keys, or also its values, where keys may be equal."""
    if not isinstance(whole, ast.DictComp):
        return None
    names = [part.id for part in ast.walk(each.target) if isinstance(part, ast.Name)]
    return "keys" if any(names_element(whole.key, name) for name in names) else "value"

"""Follow a dictionary of which only one entry depends on the source: `{"text": text, "at": time.time()}`.

Who reads another entry gets the same in each run. A list of such dictionaries is followed like one of them.
"""

from __future__ import annotations

import ast
from abc import abstractmethod

from autochron.detect.scan.call_effects import effect_of
from autochron.detect.scan.destination_state import FIELD, TOKEN_FIELD
from autochron.detect.scan.destinations import is_index
from autochron.detect.scan.flow import last_name
from autochron.detect.scan.tokens import TokenSearch

_ASKING_ONLY = frozenset({"len", "bool", "isinstance", "type", "callable", "any", "all"})
_SAME = frozenset({"list", "tuple", "iter", "reversed"})
_KEEPING = (
    ast.Assign, ast.AnnAssign, ast.NamedExpr, ast.Return, ast.Yield, ast.withitem, ast.arguments, ast.Lambda, ast.Expr,
)  # fmt: skip
"""What passes a dictionary on as it is."""


class FieldSearch(TokenSearch):
    """The part of a search that follows dictionaries with one entry that depends on the source."""

    @property
    def follows_field(self) -> bool:
        """Whether only one entry of a dictionary depends on the source."""
        return self.mode.startswith((FIELD, TOKEN_FIELD))

    def follow_field(self, parent: ast.AST, node: ast.AST) -> bool:
        """Follow a dictionary, or a list of such, to what the expression around it makes of it.

        Returns:
            Whether that is all. Otherwise the search goes on as with any value, of a mode that may have changed.
        """
        handler = self._field_handlers.get(type(parent))
        is_followed = handler is not None and handler(self, parent, node)
        if not is_followed and not isinstance(parent, _KEEPING):
            self.mode = "value"
        return is_followed

    def _compare_field(self, parent: ast.AST, node: ast.AST) -> bool:
        assert isinstance(parent, ast.Compare)  # noqa: S101 - see `_field_handlers`
        asked = parent.ops[-1]
        is_searched = (
            isinstance(asked, ast.In | ast.NotIn) and parent.left is not node
        )  # codespell:ignore notin
        is_key = is_searched and _is_text(parent.left)
        return len(parent.ops) == 1 and (is_key or isinstance(asked, ast.Is | ast.IsNot))

    def _hold_field(self, parent: ast.AST, node: ast.AST) -> bool:
        if isinstance(parent, ast.Tuple) and self.module.paired(parent, node) is not None:
            return False
        self.push(parent)
        return True

    def _each_field(self, parent: ast.AST, node: ast.AST) -> bool:
        """Follow the variable of a loop over a list."""
        assert isinstance(parent, ast.comprehension | ast.For | ast.AsyncFor)  # noqa: S101 - see `_field_handlers`
        if parent.iter is not node:
            return isinstance(parent, ast.comprehension)
        self.bind(parent.target)
        return True

    def _read_field(self, parent: ast.AST, node: ast.AST) -> bool:
        """Follow a look-up: of an entry, or of a dictionary in a list."""
        assert isinstance(parent, ast.Subscript)  # noqa: S101 - see `_field_handlers`
        if not isinstance(parent.ctx, ast.Load) or parent.value is not node:
            return False
        if is_index(parent.slice) or (isinstance(parent.slice, ast.Slice)):
            self.push(parent)
            return True
        return self._entry(parent.slice, parent)

    def _attribute_of_field(self, parent: ast.AST, node: ast.AST) -> bool:
        assert isinstance(parent, ast.Attribute)  # noqa: S101 - see `_field_handlers`
        call = self.module.parents.get(parent)
        if not isinstance(call, ast.Call) or call.func is not parent:
            return False
        if parent.attr in ("append", "extend", "insert", "appendleft", "clear", "keys", "setdefault"):
            return parent.attr != "setdefault"
        if parent.attr in ("get", "pop") and call.args and isinstance(call.args[0], ast.Constant):
            if is_index(call.args[0]):
                self.push(call)
                return True
            return self._entry(call.args[0], call)
        if parent.attr in ("pop", "popleft") and not call.args:
            self.push(call)
            return True
        return False

    def _entry(self, key: ast.expr, read: ast.expr) -> bool:
        """Follow what is read under a key: nothing if it is written out and another one than that of the entry."""
        if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
            return False
        if self.mode == f"{TOKEN_FIELD}{key.value}":
            self.push(read, "token")
            return True
        return self.mode != f"{FIELD}{key.value}"

    def _pass_field(self, parent: ast.AST, node: ast.AST) -> bool:
        """Follow an argument of a call."""
        if isinstance(parent, ast.keyword) and parent.arg is None:
            return False
        call = self.module.parents.get(parent) if isinstance(parent, ast.keyword) else parent
        if not isinstance(call, ast.Call) or call.func is node:
            return False
        last, effect = last_name(call.func), effect_of(self.module, call)
        if effect == "computes" and last in _ASKING_ONLY:
            return True
        if effect == "computes" and last in _SAME:
            self.push(call)
            return True
        if effect in ("own", "fills") and last != "setdefault":
            self._argument(call, node, parent.arg if isinstance(parent, ast.keyword) else None)
            return True
        return False

    @abstractmethod
    def _argument(self, call: ast.Call, node: ast.AST, keyword: str | None) -> None:
        """Follow an argument of a call as that of any value."""

    _field_handlers = {  # noqa: RUF012 - it is never changed
        **dict.fromkeys((ast.If, ast.While, ast.BoolOp, ast.Assert, ast.IfExp), TokenSearch.pass_test),
        **dict.fromkeys((ast.List, ast.Tuple, ast.Await, ast.ListComp, ast.GeneratorExp), _hold_field),
        **dict.fromkeys((ast.comprehension, ast.For, ast.AsyncFor), _each_field),
        ast.Compare: _compare_field,
        ast.Subscript: _read_field,
        ast.Attribute: _attribute_of_field,
        ast.Call: _pass_field,
        ast.keyword: _pass_field,
    }


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)

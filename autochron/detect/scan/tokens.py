"""Follow a token through a module: a value that only tells things apart, such as `id(node)`, a uuid or the hash of a text.

It differs in each run, and yet it equals in each run what it equals in another. So a comparison by `==` or `in`, a look-up in
a table and a test whether there is one decide the same. Where it is shown, sorted, cut or counted with, it is a value as any
other.
"""

from __future__ import annotations

import ast

from autochron.detect.scan.call_effects import KEYED, effect_of, filled_by, handed_on, own_functions
from autochron.detect.scan.destination_state import DestinationState
from autochron.detect.scan.flow import last_name
from autochron.detect.scan.value_uses import FILLING_METHODS

TOKEN_CALLS = frozenset(
    {"id", "hash", "secrets.token_hex", "secrets.token_urlsafe", "secrets.token_bytes"}
    | {f"uuid.uuid{version}" for version in (1, 4, 6, 7)}
)
"""Sources whose value is a token."""
_LONG = 8
"""The bytes from which on a token is unique."""
_EQUALITY = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot, ast.In, ast.NotIn)
_SAME_TEXT = frozenset({"hex", "urn", "int", "bytes", "encode", "decode", "upper", "lower"})
"""Attributes and methods of a token that are one as well."""
_SAME_VALUE = frozenset({"str", "int", "UUID", "cast", "hex"})
_SAME_CONTAINER = frozenset(
    {"list", "tuple", "dict", "zip", "enumerate", "iter", "reversed", "copy", "deepcopy"}
)
_ASKING_ONLY = frozenset({"len", "bool", "isinstance", "type", "callable", "hasattr", "any", "all"})
_GOT = frozenset({"get", "pop", "setdefault", "popitem", "popleft"})
_VIEWS = frozenset({"items", "values", "keys", "copy"})
_BINDING = (
    ast.Assign, ast.AnnAssign, ast.NamedExpr, ast.Return, ast.Yield, ast.withitem, ast.arguments, ast.Lambda, ast.Expr,
    ast.Tuple, ast.Subscript, ast.Dict, ast.DictComp, ast.Call, ast.keyword,
)  # fmt: skip
"""What passes a token on as it is, where its own method does not say otherwise."""


class TokenSearch(DestinationState):
    """The part of a search that follows tokens, and containers of tokens."""

    def follow_token(self, parent: ast.AST, node: ast.AST) -> bool:
        """Follow a token to what the expression around it makes of it.

        Returns:
            Whether that is all. Otherwise the search goes on as with any value, of a mode that may have changed.
        """
        kind = type(parent)
        handler = self._token_handlers.get(kind)
        is_followed = handler is not None and handler(self, parent, node)
        if not is_followed and kind not in _BINDING:
            self.mode = "value"
        return is_followed

    def pass_test(self, parent: ast.AST, node: ast.AST) -> bool:
        """Follow a test, which decides the same in each run: there is something."""
        if isinstance(parent, ast.BoolOp) or (isinstance(parent, ast.IfExp) and parent.test is not node):
            self.push(parent)
        return True

    def _compare_token(self, parent: ast.AST, node: ast.AST) -> bool:
        assert isinstance(parent, ast.Compare)  # noqa: S101 - see `_token_handlers`
        is_searched = (
            isinstance(parent.ops[-1], ast.In | ast.NotIn) and parent.left is not node
        )  # codespell:ignore notin
        if is_searched and self.mode == "token":
            return False  # for a part of its text
        return all(isinstance(operator, _EQUALITY) for operator in parent.ops)

    def _keep_token(self, parent: ast.AST, node: ast.AST) -> bool:
        """Follow an expression that has the token as its value, or that has it and more as its text."""
        if isinstance(parent, ast.BinOp) and not isinstance(parent.op, ast.Add):
            return False
        if isinstance(parent, ast.FormattedValue | ast.JoinedStr) and self.mode != "token":
            return False
        self.push(parent)
        return True

    def _hold_token(self, parent: ast.AST, node: ast.AST) -> bool:
        """Follow a container that is made of tokens."""
        if (isinstance(parent, ast.Dict) and node in parent.keys) or (
            isinstance(parent, ast.DictComp) and parent.key is node
        ):
            self.push(parent, "token-set")
        elif isinstance(parent, ast.Dict) and self.mode == "token" and self.begin_field(parent, node):
            pass
        elif isinstance(parent, ast.Tuple) and self.module.paired(parent, node) is not None:
            return False
        else:
            self.push(parent, "token-set" if isinstance(parent, ast.Set | ast.SetComp) else "tokens")
        return True

    def _each_token(self, parent: ast.AST, node: ast.AST) -> bool:
        """Follow the variable of a loop over tokens."""
        assert isinstance(parent, ast.comprehension | ast.For | ast.AsyncFor)  # noqa: S101 - see `_token_handlers`
        if parent.iter is node and self.mode == "token-set":
            self.push(node, "key")
            return True
        if parent.iter is not node or self.mode != "tokens":
            return isinstance(parent, ast.comprehension) and node in parent.ifs
        self.bind(parent.target, "token")
        return True

    def _token_at(self, parent: ast.AST, node: ast.AST) -> bool:
        """Follow a look-up: of what is found under a token, or of a token in a container."""
        assert isinstance(parent, ast.Subscript)  # noqa: S101 - see `_token_handlers`
        if not isinstance(parent.ctx, ast.Load):
            if parent.slice is node and isinstance(parent.ctx, ast.Store):
                self.push_container(parent.value, "token-set")
            return parent.slice is node
        if parent.slice is node or self.mode == "token-set":
            return True  # the same is found in each run
        if self.mode == "tokens":
            self.push(parent, "tokens" if isinstance(parent.slice, ast.Slice) else "token")
            return True
        self.mode = "value"
        return False

    def _attribute_of_token(self, parent: ast.AST, node: ast.AST) -> bool:
        assert isinstance(parent, ast.Attribute)  # noqa: S101 - see `_token_handlers`
        if self.mode == "token":
            call = self.module.parents.get(parent)
            if parent.attr in _SAME_TEXT or (isinstance(call, ast.Call) and _drops_hyphens(call)):
                self.push(parent)
                return True
        elif parent.attr in FILLING_METHODS - {"setdefault"}:
            return True
        elif self.mode == "token-set" and (
            parent.attr == "values"
            or (parent.attr in _GOT - {"popitem"} and _has_key(self.module.parents.get(parent)))
        ):
            return True  # what is found under a key
        elif self.mode == "token-set" and parent.attr in ("items", "keys"):
            call = self.module.parents.get(parent)
            if isinstance(call, ast.Call):
                self.push(call, "key")
                return True
        elif self.mode == "tokens" and parent.attr in _GOT | _VIEWS:
            call = self.module.parents.get(parent)
            if isinstance(call, ast.Call):
                self.push(call, "token" if parent.attr in _GOT else "tokens")
                return True
        return False

    def _pass_token(self, parent: ast.AST, node: ast.AST) -> bool:
        """Follow an argument of a call."""
        call = self.module.parents.get(parent) if isinstance(parent, ast.keyword) else parent
        if not isinstance(call, ast.Call) or call.func is node:
            return False
        handed = handed_on(call)
        if handed is not None and own_functions(self.module, handed):
            return False
        last, effect = last_name(call.func), effect_of(self.module, call)
        is_first = bool(call.args) and call.args[0] is node
        if last == "setdefault" and is_first and isinstance(call.func, ast.Attribute):
            self.push_container(call.func.value, "token-set")
            return True
        if effect in ("own", "none", "output"):
            return False
        if effect == "computes":
            if last in _ASKING_ONLY and not (last == "len" and self.mode == "token"):
                return True
            if (
                last in (_SAME_VALUE if self.mode == "token" else _SAME_CONTAINER)
                and self.mode != "token-set"
            ):
                self.push(call)
                return True
        filled = filled_by(self.module, call) if effect == "fills" else None
        if filled is not None and filled is not node:
            self.push_container(filled, "token-set" if last == "add" else "tokens")
            return True
        if effect == "unknown" and last in KEYED and is_first and isinstance(call.func, ast.Attribute):
            return True  # the same is found under it
        self.mode = "value"
        return False

    _token_handlers = {  # noqa: RUF012 - it is never changed
        **dict.fromkeys(
            (ast.If, ast.While, ast.BoolOp, ast.Assert, ast.Match, ast.match_case, ast.IfExp), pass_test
        ),
        **dict.fromkeys((ast.FormattedValue, ast.JoinedStr, ast.BinOp, ast.Await, ast.Starred), _keep_token),
        **dict.fromkeys(
            (
                ast.Set, ast.SetComp, ast.List, ast.ListComp, ast.GeneratorExp, ast.Dict, ast.DictComp,
                ast.Tuple,
            ),
            _hold_token,
        ),
        **dict.fromkeys((ast.comprehension, ast.For, ast.AsyncFor), _each_token),
        ast.Compare: _compare_token,
        ast.Subscript: _token_at,
        ast.Attribute: _attribute_of_token,
        ast.Call: _pass_token,
        ast.keyword: _pass_token,
    }  # fmt: skip


def _drops_hyphens(call: ast.Call) -> bool:
    """Return whether a call is `text.replace("-", "")`, after which a token tells the same apart."""
    match call:
        case ast.Call(
            func=ast.Attribute(attr="replace"), args=[ast.Constant(value="-"), ast.Constant(value="" | "_")]
        ):
            return True
    return False


def _has_key(call: ast.AST | None) -> bool:
    return isinstance(call, ast.Call) and bool(call.args)


def is_long(node: ast.AST) -> bool:
    """Return whether a token is too long to be drawn twice, as far as its call tells: `secrets.token_hex(2)` is not."""
    if not isinstance(node, ast.Call) or not last_name(node.func).startswith("token_") or not node.args:
        return True
    length = node.args[0]
    return isinstance(length, ast.Constant) and isinstance(length.value, int) and length.value >= _LONG

"""Callables without Python code cross a boundary through a wrapper."""

import functools
import inspect
import math
import operator
import types

import pytest

from autochron.weaving import gate
from autochron.weaving.wrapping import crossing_call, point_for, wrap_attribute, wrap_client
from tests.weaving import ways
from tests.weaving.test_serving import Served


def calls(handler):
    return [entry for entry in handler.log if entry[0] == "enter"]


class Callable:
    def __call__(self, a, b=2):
        return a, b


class Holder:
    static = staticmethod(len)

    def method(self, a):
        return self, a

    @classmethod
    def make(cls, a):
        return cls, a


def test_a_c_function_crosses_and_is_restored():
    owner = types.SimpleNamespace(gcd=math.gcd, sqrt=math.sqrt)
    handler = ways.Logging()
    undo = wrap_attribute(owner, "sqrt", point_for(math.sqrt, "math", "sqrt", ()))
    assert owner.sqrt(4) == 2.0
    with ways.handled_by(handler):
        assert owner.sqrt(9) == 3.0
        with pytest.raises(ValueError, match=r"math domain|nonnegative"):
            owner.sqrt(-1)
    undo()

    assert owner.sqrt is math.sqrt
    assert handler.log == [
        ("enter", "sqrt", (9,)), ("returned", "sqrt", 3.0), ("enter", "sqrt", (-1,)), ("raised", "sqrt", "ValueError"),
    ]  # fmt: skip


def test_the_arguments_of_a_callable_without_a_signature_are_args_and_kwargs():
    point = point_for(max, "builtins", "max", ())
    handler = ways.Logging()
    with ways.handled_by(handler):
        assert crossing_call(point, max, None, (1, 3), {"key": operator.neg}) == 1

    assert point.parameters == ("args", "kwargs")
    assert calls(handler) == [("enter", "max", ((1, 3), {"key": operator.neg}))]


@pytest.mark.parametrize(
    ("function", "args", "kwargs", "bound", "value"),
    [
        (functools.partial(divmod, 7), (2,), {}, None, (3, 1)),
        (Callable(), (1,), {}, (1, 2), (1, 2)),
        (Callable(), (1,), {"b": 3}, (1, 3), (1, 3)),
        (functools.partial(Callable(), b=5), (1,), {}, (1, 5), (1, 5)),
        (operator.itemgetter(1), ([4, 5],), {}, None, 5),
    ],
)
def test_partials_and_instances_cross_with_bound_arguments(function, args, kwargs, bound, value):
    handler = ways.Logging()
    with ways.handled_by(handler):
        assert crossing_call(point_for(function, "m", "f", ()), function, None, args, kwargs) == value

    assert [event[0] for event in handler.log] == ["enter", "returned"]
    if bound is not None:
        assert handler.log[0] == ("enter", "f", bound)


def test_wrong_arguments_raise_the_error_of_the_callable():
    function = Callable()
    handler = ways.Logging()
    with (
        ways.handled_by(handler),
        pytest.raises(TypeError, match="missing 1 required positional argument: 'a'"),
    ):
        crossing_call(point_for(function, "m", "f", ()), function, None, (), {})

    assert handler.events() == ["enter", "raised"]


def test_a_wrapped_attribute_keeps_its_name_and_signature():
    class C(Holder):
        pass

    undo = wrap_attribute(C, "method", point_for(Holder.method, "m", "C.method", ()))
    c, handler = C(), ways.Logging()
    with ways.handled_by(handler):
        assert c.method(1) == (c, 1)

    assert C.method.__name__ == "method"
    assert str(inspect.signature(c.method)) == "(a)"
    assert inspect.ismethod(c.method)
    assert handler.events() == ["enter", "returned"]
    undo()
    assert "method" not in vars(C)


@pytest.mark.parametrize("name", ["static", "make", "method"])
def test_wrapped_descriptors_bind_as_before_and_are_restored(name):
    class C(Holder):
        static = staticmethod(len)

        @classmethod
        def make(cls, a):
            return cls, a

        def method(self, a):
            return self, a

    descriptor, c = vars(C)[name], C()
    expected = getattr(c, name)([1])
    undo = wrap_attribute(C, name, gate.Point("m", name, ("args", "kwargs")))
    handler = ways.Logging()
    with ways.handled_by(handler):
        assert getattr(c, name)([1]) == expected
    undo()

    assert calls(handler) == [("enter", name, (([1],), {}))]
    assert vars(C)[name] is descriptor


def test_undoing_leaves_an_attribute_that_someone_else_has_set_since():
    owner = types.SimpleNamespace(sqrt=math.sqrt)
    undo = wrap_attribute(owner, "sqrt", point_for(math.sqrt, "math", "sqrt", ()))
    owner.sqrt = "theirs"
    undo()

    assert owner.sqrt == "theirs"


def test_a_serving_replaces_the_call():
    ran = []
    point = point_for(ran.append, "m", "append", ())
    with ways.handled_by(Served("served")):
        assert crossing_call(point, ran.append, None, (1,), {}) == "served"
    error = LookupError("served")
    with ways.handled_by(Served(error=error)), pytest.raises(LookupError) as raised:
        crossing_call(point, ran.append, None, (1,), {})

    assert (raised.value, ran) == (error, [])


def test_a_call_for_which_the_handler_returns_none_reaches_the_callable():
    class Nothing:
        def enter(self, point, arguments):
            return None

    with ways.handled_by(Nothing()):
        assert crossing_call(point_for(len, "m", "len", ()), len, None, ([1],), {}) == 1


class Orders:
    def create(self, item):
        return f"created {item}"


class Client:
    kind = Orders

    def __init__(self):
        self.orders = Orders()
        self.url = "here"
        self._secret = "hidden"

    def ping(self, times=1):
        return "pong" * times

    def _private(self):
        return self.ping()


def test_public_methods_of_a_client_and_of_its_parts_cross():
    client, handler = Client(), ways.Logging()
    wrapped = wrap_client(client, "client", lambda path: (path,))
    with ways.handled_by(handler):
        assert (wrapped.ping(2), wrapped.orders.create("tea"), wrapped.url) == (
            "pongpong",
            "created tea",
            "here",
        )
        assert (wrapped._private(), wrapped._secret, wrapped.kind) == ("pong", "hidden", Orders)

    assert calls(handler) == [("enter", "client.ping", (2,)), ("enter", "client.orders.create", ("tea",))]
    assert isinstance(wrapped, Client)
    wrapped.url = "there"
    assert client.url == "there"

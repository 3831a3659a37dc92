"""What a signal handler of the program raises while we record is the program's: it gets it, and it is the call's outcome."""

import signal

import pytest

import autochron
from autochron._runtime.signals import is_interruption
from autochron.envelope import canonical, codec
from autochron.recording import changes

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="needs signals")


class TimeLimitError(Exception):
    pass


class Deadline:
    def __call__(self, *caught):
        raise TimeLimitError

    def method(self, number, frame):
        raise TimeLimitError


def handle(number, frame=None):
    raise TimeLimitError


HANDLERS = {
    "function": handle,
    "lambda": lambda *_: handle(0),
    "method": Deadline().method,
    "callable": Deadline(),
}


@pytest.fixture(params=HANDLERS.values(), ids=HANDLERS)
def handler(request):
    before = signal.signal(signal.SIGUSR1, request.param)
    yield
    signal.signal(signal.SIGUSR1, before)


def interrupted_once(monkeypatch, owner, name):
    """Have the signal arrive while a function of ours runs, the first time."""
    original = getattr(owner, name)

    def interrupted(*arguments):
        monkeypatch.setattr(owner, name, original)
        signal.raise_signal(signal.SIGUSR1)
        return original(*arguments)

    monkeypatch.setattr(owner, name, interrupted)


@autochron.boundary
def double(value):
    return [(value, value)]


@autochron.boundary
def same(value):
    return value


@autochron.boundary
def fail(value):
    raise KeyError(value)


@autochron.boundary
def count(value):
    yield (value,)


def caught(call, *arguments):
    try:
        return call(*arguments)
    except Exception as error:
        return type(error)


PLACES = [
    (double, changes, "watch"),
    (lambda value: same([value]), changes, "argument_of"),
    (double, canonical, "encode_sorted"),
    (lambda value: double((value,)), canonical, "screen"),
    (double, codec, "ValueWriter"),
    (fail, codec, "ValueWriter"),
    (lambda value: list(count(value)), codec, "ValueWriter"),
]


@pytest.mark.parametrize(("call", "owner", "name"), PLACES, ids=[f"{p[1].__name__}.{p[2]}" for p in PLACES])
def test_the_program_gets_it_and_so_does_a_replay(call, owner, name, block, handler, monkeypatch):
    def use():
        return caught(call, 1), caught(call, 2)

    after = caught(call, 2)
    interrupted_once(monkeypatch, owner, name)
    given, trace = block.record(use)
    assert given == (TimeLimitError, after)
    assert block.replay(trace, use) == (given, ())


def test_what_a_value_raises_by_itself_is_none(handler):
    class Value:
        def read(self, number):
            raise TimeLimitError

    with pytest.raises(TimeLimitError) as own:
        Value().read(1)
    assert not is_interruption(own.value)
    with pytest.raises(TimeLimitError) as interruption:
        signal.raise_signal(signal.SIGUSR1)
    assert is_interruption(interruption.value)

"""An exception that the program's signal handler raises while we record reaches the program, and is the call's outcome."""

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
    def __call__(self, *result_or_error_type):
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


def interrupt_once(monkeypatch, owner, name):
    """Let the signal arrive during the first call of one of our functions."""
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


def result_or_error_type(call, *arguments):
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
def test_an_interruption_inside_our_code_reaches_the_program_and_is_replayed(
    call, owner, name, block, handler, monkeypatch
):
    def use():
        return result_or_error_type(call, 1), result_or_error_type(call, 2)

    uninterrupted = result_or_error_type(call, 2)
    interrupt_once(monkeypatch, owner, name)
    results, trace = block.record(use)
    assert results == (TimeLimitError, uninterrupted)
    assert block.replay(trace, use) == (results, ())


def test_the_same_exception_raised_without_a_signal_is_no_interruption(handler):
    class Value:
        def read(self, number):
            raise TimeLimitError

    with pytest.raises(TimeLimitError) as raised:
        Value().read(1)
    assert not is_interruption(raised.value)
    with pytest.raises(TimeLimitError) as interruption:
        signal.raise_signal(signal.SIGUSR1)
    assert is_interruption(interruption.value)

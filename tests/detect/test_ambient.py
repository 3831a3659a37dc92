"""A function with a hook for answers behaves as before, and the record of an ambient call restores its value."""

import inspect
import random
import sys

import pytest

from autochron.detect.ambient_codec import SEEDED, form_of, random_bits
from autochron.detect.catalogue import BY_NAME, SOURCES
from autochron.detect.watch.code_prologue import with_answer
from autochron.detect.watch.counters import SourceCount
from autochron.detect.watch.watch import SourceWatch


def closing():
    kept = "kept"

    def function(first, second=2, *, third="c"):
        try:
            inner = lambda: (first, kept)  # it makes a cell of a parameter
            if third == "error":
                raise LookupError(first)
            return [*inner(), second, third]
        finally:
            second = None

    return function


class Answering:
    def __init__(self, function):
        self.asked = []
        self.answer = None
        self.function = function
        count = function.__code__.co_argcount + function.__code__.co_kwonlyargcount
        function.__code__ = with_answer(function.__code__, self.ask, tuple(range(count)))

    def ask(self, *arguments):
        self.asked.append((arguments, sys._getframe(1).f_code.co_name))
        return self.answer


def test_a_function_returns_the_answer_or_goes_on():
    hook = Answering(closing())
    for _ in range(50):  # often enough for the interpreter to specialise the code
        hook.answer = None
        assert hook.function(1) == [1, "kept", 2, "c"]
        hook.answer = ("other",)
        assert hook.function(1, third=5) == "other"
        hook.answer = (None,)
        assert hook.function(second=3, first=1) is None
    assert hook.asked[:3] == [
        (arguments, "test_a_function_returns_the_answer_or_goes_on")
        for arguments in ((1, 2, "c"), (1, 2, 5), (1, 3, "c"))
    ]
    assert str(inspect.signature(hook.function)) == "(first, second=2, *, third='c')"


def test_an_error_of_a_hooked_function_has_the_same_traceback():
    hook = Answering(closing())
    with pytest.raises(LookupError, match="7") as caught:
        hook.function(7, third="error")
    last = caught.traceback[-1]
    assert (last.name, last.lineno) == ("function", closing.__code__.co_firstlineno + 6)


def test_a_hooked_function_returns_the_answer_under_a_tracer():
    hook = Answering(closing())
    hook.answer = (5,)
    events = []

    def trace(frame, event, _argument):
        events.append((frame.f_code.co_name, event))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        assert hook.function(1) == 5
    finally:
        sys.settrace(before)
    assert ("ask", "call") in events


RECORDED = [
    source
    for source in SOURCES
    if source.category in {"clock", "random", "uuid"} and source.places and form_of(source)
]


def test_recordable_calls_are_of_three_categories_and_exclude_clocks_of_event_loops():
    calls = {source.call for source in SOURCES if form_of(source) is not None}
    assert {BY_NAME[call].category for call in calls} == {"clock", "random", "uuid"}
    assert len(RECORDED) > 100
    assert calls.isdisjoint(
        {"asyncio.AbstractEventLoop.time", "timeit.timeit", "torch.rand", "numpy.datetime64"}
    )


class Interceptor:
    """Intercepts each ambient call of a module: it records the values, and then serves them."""

    def __init__(self, folder):
        self.path = str(folder / "asks.py")
        self.kept = []
        self.serves = False
        self.problems = []
        self.watch = SourceWatch(
            lambda file: file == self.path, str, self.problems.append, lambda: False, self.through
        )

    def through(self, line: SourceCount):
        form = form_of(line.source)

        def call(original, /, *args, **kwargs):
            draw = form.encode(original, args, kwargs)
            if self.serves:
                return draw.rebuild(self.kept.pop(0))
            self.kept.append(draw.draw(random_bits if line.source.call in SEEDED else original))
            return draw.rebuild(self.kept[-1])

        return call

    def run(self, expression):
        namespace = {}
        program = f"import datetime, random, secrets, time, uuid\ndef f():\n    return {expression}\n"
        exec(compile(program, self.path, "exec"), namespace)
        self.watch.on()
        try:
            first = namespace["f"]()
            self.serves = True
            return first, namespace["f"]()
        finally:
            self.watch.off()


@pytest.mark.parametrize(
    "expression",
    [
        "time.time()",
        "time.localtime()",
        "uuid.uuid1()",
        "uuid.uuid4()",
        "datetime.datetime.now(tz=datetime.timezone.utc)",
        "random.Random().random()",
        "(random.seed(), random.random())",
        "random.choice([[1], [2], [3]])",
        "random.sample('abcdef', 3)",
        "random.SystemRandom().choices(range(1000), k=5)",
        "secrets.token_hex(5)",
        "(lambda x: (random.shuffle(x), x))(list(range(20)))",
    ],
)
def test_a_recorded_value_is_restored(expression, tmp_path):
    hidden = random.getstate()
    through = Interceptor(tmp_path)
    first, second = through.run(expression)
    random.setstate(hidden)
    assert (second, through.problems) == (first, [])
    assert type(second) is type(first)


def test_a_finding_whose_value_is_recorded_is_covered(tmp_path):
    through = Interceptor(tmp_path)
    through.run("[time.time(), uuid.uuid4()]")
    assert [(finding.call, finding.count, finding.covered) for finding in through.watch.findings()] == [
        ("time.time", 2, "recorded"),
        ("uuid.uuid4", 2, "recorded"),
    ]

"""Generators, and code that drives them."""

import gc
import inspect
import itertools
import sys
import traceback
import warnings
import weakref

GENERATORS = []


def generator(function):
    GENERATORS.append(function)
    return function


@generator
def empty():
    return "nothing"
    yield


@generator
def counts():
    got = yield 1
    got = yield got, 2
    return got


@generator
def loops():
    for item in range(2):
        sent = yield item
        if sent == 1:
            continue
        if sent:
            break


@generator
def in_try():
    try:
        yield "try"
        yield "try again"
    except ValueError as error:
        yield repr(error)
        raise KeyError("from except")
    except StopIteration:
        return "stopped"
    else:
        yield "else"
    finally:
        yield "finally"
    return "end"


@generator
def closes_tidily():
    log = []
    try:
        yield log
    except GeneratorExit:
        log.append("exit")
        raise
    finally:
        log.append("finally")


@generator
def returns_on_close():
    try:
        yield 1
    except GeneratorExit:
        return "closed"


@generator
def ignores_close():
    try:
        yield 1
    except GeneratorExit:
        yield "never mind"


@generator
def inside_handler():
    try:
        raise KeyError("first")
    except KeyError:
        yield repr(sys.exception())
        yield repr(sys.exception())
        raise ValueError("second")


@generator
def swallows():
    while True:
        try:
            yield "again"
        except ValueError:
            pass
        except StopIteration as error:
            return error.value


@generator
def with_block():
    import contextlib

    with contextlib.suppress(ValueError):
        yield 1
        with contextlib.closing(counts()) as inner:
            yield next(inner)
    yield 3


@generator
def raises_stop():
    yield 1
    raise StopIteration("inside")


@generator
def raises_stop_at_once():
    if True:
        raise StopIteration
    yield


@generator
def deep_in_an_expression():
    return [
        1,
        (2, {"a": [(yield "a"), f"{(yield 'b')!r}"]}),
        *((yield "c"),),
        print if (yield "d") else (yield "e"),
    ]


@generator
def arguments_of_a_call():
    return dict(a=1, b=(yield "b"), **{"c": (yield "c")})  # noqa: PIE804 - a merge of two dictionaries is the case


def inner_of_yield_from(n):
    total = 0
    try:
        while n:
            total += (yield n) or 0
            n -= 1
    except ValueError:
        yield "caught inside"
    finally:
        total += 100
    return total


DELEGATING = []


def delegating(function):
    DELEGATING.append(function)
    return function


@delegating
def yields_from_a_generator():
    first = yield from inner_of_yield_from(2)
    second = yield from counts()
    return first, second


@delegating
def yields_from_a_list():
    yield from [1, 2]
    return (yield from "ab")


@delegating
def yields_from_in_try():
    try:
        got = yield from swallows()
        yield got
    except ValueError as error:
        yield from (repr(error),)
    except KeyError:
        yield "outside"
    finally:
        yield from range(1)


@delegating
def yields_from_deep():
    return [0, (yield from counts()), {"k": (yield 5)}, (yield from ignores_close())]


class Iterator:
    """A hand-written iterator with all methods of a generator."""

    def __init__(self):
        self.log = []

    def __iter__(self):
        return self

    def __next__(self):
        return self.send(None)

    def send(self, value):
        self.log.append(value)
        if len(self.log) > 2:
            raise StopIteration(list(self.log))
        return len(self.log)

    def throw(self, *error):
        self.log.append("thrown")
        if len(self.log) > 2:
            raise StopIteration("thrown")
        return "caught"

    def close(self):
        self.log.append("closed")


@delegating
def yields_from_an_object():
    return (yield from Iterator())


class Countdown:
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        while self.n:
            self.n -= 1
            yield self.n

    def pairs(self):
        for a, b in itertools.combinations(self, 2):
            yield b, a

    @classmethod
    def make(cls, n):
        yield cls(n)

    @property
    def stream(self):
        yield self.n


class Late:
    def __del__(self):
        late.append("gone")


late = []


def holds(thing):
    try:
        yield 1
        yield thing
    finally:
        late.append("closed")


def observe(step):
    """Run one step, and return all of its observable effects."""
    try:
        out = ("gave", repr(step()))
    except BaseException as error:
        trace = traceback.extract_tb(error.__traceback__)
        links = repr(error.__cause__), repr(error.__context__), error.__suppress_context__
        lines = [
            (each.name, each.lineno, each.colno, each.end_colno)
            for each in trace
            if each.filename == __file__
        ]
        out = (repr(error), repr(getattr(error, "value", None)), links, lines)
    return out


STEPS = {
    "next": next,
    "send": lambda it: it.send(1),
    "throw": lambda it: it.throw(ValueError("thrown")),
    "stop": lambda it: it.throw(StopIteration("thrown")),
    "exit": lambda it: it.throw(GeneratorExit),
    "close": lambda it: it.close(),
}


def run_script(function, script):
    it = function()
    out = []
    for step in script:
        out.append(observe(lambda: STEPS[step](it)))
        frame = it.gi_frame
        out.append((inspect.getgeneratorstate(it), frame and frame.f_lineno, it.gi_running, it.gi_suspended))
        if frame is not None:
            out.append((sorted(frame.f_locals), frame.f_code.co_name))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            it.close()
        except RuntimeError as error:
            out.append(repr(error))
            it.close()
    return out


def run_all(functions):
    scripts = itertools.chain.from_iterable(itertools.product(STEPS, repeat=length) for length in (1, 2, 3))
    return [
        (function.__name__, script, run_script(function, script))
        for script in scripts
        for function in functions
    ]


# --- probes -----------------------------------------------------------------------------------------------------------


def probe_every_script():
    return run_all(GENERATORS)


def probe_every_script_of_delegation():
    return run_all(DELEGATING)


def probe_long_runs():
    out = []
    for function in GENERATORS + DELEGATING:
        it = function()
        out.append(observe(lambda: list(itertools.islice(it, 12))))
        it2 = function()
        next_item = None
        for _ in range(12):
            told = observe(lambda: it2.send(next_item))
            out.append(told)
            if told[0] != "gave":
                break
            next_item = 1
        out.append(observe(it.close) if function is not ignores_close else None)
        out.append(observe(it2.close))
    return out


def probe_yieldfrom():
    it = yields_from_a_generator()
    out = [it.gi_yieldfrom]
    next(it)
    out.append(type(it.gi_yieldfrom).__name__)
    out.append(it.gi_yieldfrom.gi_code.co_name)
    return out


def probe_not_delegating():
    it = counts()
    next(it)
    return it.gi_yieldfrom, it.gi_code is counts.__code__, it.__name__, it.__qualname__, type(it).__name__


def probe_methods():
    down = Countdown(4)
    return (
        list(down),
        list(Countdown(3).pairs()),
        next(Countdown.make(2)).n,
        list(Countdown(7).stream),
        sum(Countdown(3)),
    )


def probe_formatted_tracebacks():
    out = []
    for function, script in (
        (in_try, "next throw next"), (raises_stop, "next next"), (raises_stop_at_once, "next"),
        (inside_handler, "next next next"),
        (ignores_close, "next close"), (counts, "next throw"), (deep_in_an_expression, "next next throw"), (counts, "throw"),
    ):  # fmt: skip
        it = function()
        try:
            for step in script.split():
                STEPS[step](it)
        except BaseException:
            out.append(traceback.format_exc())
    return out


def probe_formatted_tracebacks_of_delegation():
    out = []
    for function, script in (
        (yields_from_a_generator, "next exit"),
        (yields_from_deep, "next throw"),
        (yields_from_a_list, "next throw"),
    ):
        it = function()
        try:
            for step in script.split():
                STEPS[step](it)
        except BaseException:
            out.append(traceback.format_exc())
    return out


def probe_dropped_while_open():
    gc.disable()
    try:
        late.clear()
        it = holds(Late())
        next(it)
        del it
        first = list(late)
        it = holds(Late())
        next(it)
        next(it)
        it.close()
        second = list(late)
        del it
        third = list(late)
        it = holds(Late())
        del it
        return first, second, third, list(late)
    finally:
        gc.enable()


def probe_items_die_in_time():
    class Thing:
        pass

    def gives():
        yield Thing()
        yield Thing()
        return Thing()

    gc.disable()
    try:
        out = []
        it = gives()
        first = weakref.ref(next(it))
        out.append(first() is None)
        second = weakref.ref(next(it))
        out.append(second() is None)
        try:
            next(it)
        except StopIteration as stop:
            out.append(type(stop.value).__name__)
            last = weakref.ref(stop.value)
        out.append(last() is None)
        return out
    finally:
        gc.enable()


def probe_running():
    def reenters():
        try:
            next(it)
        except ValueError as error:
            yield str(error), it.gi_running
        yield it.gi_running

    it = reenters()
    return [*it, it.gi_running]


def probe_frame_while_suspended():
    it = counts()
    next(it)
    frame = it.gi_frame
    seen = frame.f_back, frame.f_lineno, dict(frame.f_locals), frame.f_code is counts.__code__
    return seen, dict(inspect.getgeneratorlocals(it))


def probe_generators_as_context():
    import contextlib

    log = []

    @contextlib.contextmanager
    def nested(name):
        log.append(name)
        try:
            yield name
        finally:
            log.append(f"/{name}")

    with contextlib.ExitStack() as stack:
        for name in "abc":
            stack.enter_context(nested(name))
    try:
        with nested("d"):
            raise StopIteration("through")
    except BaseException as error:
        log.append(repr(error))
    return log

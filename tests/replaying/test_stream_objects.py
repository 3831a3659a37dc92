"""Objects that are iterators, followed step by step in their own methods."""

import threading

import pytest

import autochron
from autochron.crossing import streams
from autochron.errors import DivergenceError, OpaqueError
from tests.replaying import shaped


class Feed:
    """Yields what it likes, an error in the middle too."""

    def __init__(self, *steps):
        self.steps = list(steps)
        self.lock = threading.Lock()
        self.last = None

    def __iter__(self):
        return self

    def __next__(self):
        if not self.steps:
            raise StopIteration
        self.last = self.steps.pop(0)
        if isinstance(self.last, str):
            raise LookupError(self.last)
        return self.last


@autochron.boundary
def feed(*steps):
    return Feed(*steps)


def test_other_objects_of_the_class_and_its_type_are_untouched(block):
    def use():
        stream = feed(1, 2)
        other = Feed(5, 6)
        return (
            type(stream) is Feed,
            next(stream),
            next(other),
            stream.last,
            list(stream),
            list(other),
            vars(other)["last"],
        )

    given, trace = block.record(use)
    assert given == (True, 1, 5, 1, [2], [6], 6)
    assert block.replay(trace, use) == (given, ())
    assert [len(each.outcome.items) for each in trace.envelopes] == [2]
    assert trace.envelopes[0].form == "object"


def test_an_attribute_that_was_not_kept_raises_where_it_is_used(block):
    def use():
        stream = feed(1)
        with stream.lock:
            return next(stream)

    _, trace = block.record(use)
    with pytest.raises(OpaqueError, match=r"feed\[1\]'s Feed.lock was recorded without its content"):
        block.replay(trace, use)


def test_reading_further_than_recorded_raises(block):
    def use(count):
        stream = feed(1, 2, 3)
        return [next(stream) for _ in range(count)]

    _, trace = block.record(lambda: use(2))
    with pytest.raises(DivergenceError, match="read further than when it was recorded"):
        block.replay(trace, lambda: use(3))


def test_going_on_after_an_error_is_refused_on_replay(block):
    def use():
        stream = feed(1, "broken", 2)
        with pytest.raises(LookupError, match="broken"):
            list(stream)
        return next(stream)

    given, trace = block.record(use)
    assert given == 2
    with pytest.raises(DivergenceError, match=r"read further than when it was recorded \(after its error\)"):
        block.replay(trace, use)


def test_reading_again_after_the_end_ends_again(block):
    def use():
        stream = feed(1)
        return list(stream), list(stream), next(stream, "end")

    given, trace = block.record(use)
    assert block.replay(trace, use) == (given, ())


class Generating(Feed):
    def __iter__(self):
        yield from self.steps


class Sending(Feed):
    def send(self, value):
        return value


class Ending(Feed):
    def __del__(self):
        pass


class Mapping(map):
    def __next__(self):
        return super().__next__()


@pytest.mark.parametrize("cls", [Generating, Sending, Ending, Mapping, type(iter([])), threading.Lock])
def test_what_cannot_be_followed_whole_is_not(cls):
    assert streams.can_follow(cls) is False


@pytest.mark.parametrize("cls", [Feed, shaped.Pages, shaped.Cursor])
def test_what_can_be_followed(cls):
    assert streams.can_follow(cls) is True


@autochron.boundary
def inner(number):
    return number


class Calling(Feed):
    def __next__(self):
        return inner(super().__next__())


@autochron.boundary
def calling():
    return Calling(1, 2)


def test_what_crosses_in_a_step_lies_inside_and_is_not_run_again(block):
    def use():
        stream = calling()
        found = [next(stream)]
        inner(9)
        return found + list(stream)

    given, trace = block.record(use)
    assert [(each.address, each.parent) for each in trace.envelopes] == [
        *(("calling[1]", None), ("inner[1]", 1), ("inner[2]", None), ("inner[3]", 1)),
    ]
    assert block.replay(trace, use) == (given, ())

"""Stream objects: iterators whose own methods are followed step by step."""

import threading

import pytest

import autochron
from autochron.crossing import streams
from autochron.errors import DivergenceError, OpaqueError
from tests.replaying import shaped


class Feed:
    """An iterator over given steps. A step that is a text is raised as an error."""

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


def test_a_recorded_stream_object_keeps_its_type_and_other_objects_stay_untouched(block):
    def use():
        stream = feed(1, 2)
        other_feed = Feed(5, 6)
        return (
            type(stream) is Feed,
            next(stream),
            next(other_feed),
            stream.last,
            list(stream),
            list(other_feed),
            vars(other_feed)["last"],
        )

    result, trace = block.record(use)
    assert result == (True, 1, 5, 1, [2], [6], 6)
    assert block.replay(trace, use) == (result, ())
    assert [len(envelope.outcome.items) for envelope in trace.envelopes] == [2]
    assert trace.envelopes[0].form == "object"


def test_an_attribute_that_was_not_recorded_raises_when_it_is_used(block):
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


def test_reading_on_after_an_error_is_refused_on_replay(block):
    def use():
        stream = feed(1, "broken", 2)
        with pytest.raises(LookupError, match="broken"):
            list(stream)
        return next(stream)

    result, trace = block.record(use)
    assert result == 2
    with pytest.raises(DivergenceError, match=r"read further than when it was recorded \(after its error\)"):
        block.replay(trace, use)


def test_reading_again_after_the_end_ends_again(block):
    def use():
        stream = feed(1)
        return list(stream), list(stream), next(stream, "end")

    result, trace = block.record(use)
    assert block.replay(trace, use) == (result, ())


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
def test_a_class_with_steps_that_cannot_be_followed_is_not_followed(cls):
    assert streams.can_follow(cls) is False


@pytest.mark.parametrize("cls", [Feed, shaped.Pages, shaped.Cursor])
def test_a_class_of_plain_steps_is_followed(cls):
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


def test_a_crossing_in_a_step_is_a_child_of_the_stream_and_is_served(block):
    def use():
        stream = calling()
        items = [next(stream)]
        inner(9)
        return items + list(stream)

    result, trace = block.record(use)
    assert [(envelope.address, envelope.parent) for envelope in trace.envelopes] == [
        *(("calling[1]", None), ("inner[1]", 1), ("inner[2]", None), ("inner[3]", 1)),
    ]
    assert block.replay(trace, use) == (result, ())

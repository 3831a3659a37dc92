"""A wrapped client records and replays whatever its methods return."""

import asyncio
import itertools

from msgspec.json import decode

import autochron
from autochron.weaving import wrapping

clock = itertools.count().__next__


class Orders:
    def create(self, item):
        return item, clock()


class Client:
    """A client that is a synchronous and an asynchronous context manager."""

    def __init__(self):
        self.orders = Orders()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None

    async def __aenter__(self):
        return self

    async def __aexit__(self, *error):
        return None

    def ping(self, times=1):
        return times, clock()

    async def get(self, key):
        await asyncio.sleep(0)
        return key, clock()

    def pages(self, size):
        for page in range(size):
            yield page, clock()

    async def pages_later(self, size):
        for page in range(size):
            await asyncio.sleep(0)
            yield page, clock()


def plain(client):
    with client as opened:
        return opened.ping(2), opened.orders.create("tea"), list(opened.pages(2))


def later(client):
    async def run():
        async with client as opened:
            return await opened.get("k"), [page async for page in opened.pages_later(2)]

    return asyncio.run(run())


def test_every_kind_of_method_crosses_also_inside_its_context(block):
    def use():
        client = autochron.wrap(Client(), "client", kind="tool")
        return plain(client), later(client)

    result, trace = block.record(use)
    assert [(envelope.name, envelope.form) for envelope in trace.envelopes] == [
        ("client.ping", "value"),
        ("client.orders.create", "value"),
        ("client.pages", "iterator"),
        ("client.get", "awaitable"),
        ("client.pages_later", "async_iterator"),
    ]
    assert block.replay(trace, use) == (result, ())


def test_a_method_is_described_once_until_it_is_replaced(monkeypatch):
    described = []
    point_for = wrapping.point_for
    monkeypatch.setattr(
        wrapping, "point_for", lambda *arguments: described.append(arguments[2]) or point_for(*arguments)
    )
    client = autochron.wrap(Client(), "client")
    for _ in range(3):
        client.ping()
        client.orders.create("tea")
    assert described == ["client.ping", "client.orders.create"]
    client.__wrapped__.ping = lambda: "another"
    assert client.ping() == "another"
    assert described[2:] == ["client.ping"]


class Shop:
    """A client whose methods take none, one and three arguments."""

    def closed(self):
        raise AssertionError

    def price(self, item):
        raise AssertionError

    def order(self, item, count, colour):
        raise AssertionError


def wrong_calls(client):
    calls = [
        lambda: client.closed(1),
        lambda: client.price(),
        lambda: client.price("tea", size=2),
        lambda: client.order("tea"),
        lambda: client.order("tea", 1, "red", "blue"),
    ]
    told = []
    for call in calls:
        try:
            call()
        except TypeError as error:
            told.append(str(error))
    assert len(told) == len(calls)
    return told


def test_a_call_with_wrong_arguments_is_recorded_with_them(block):
    told, trace = block.record(lambda: wrong_calls(autochron.wrap(Shop())))
    assert told == wrong_calls(Shop())
    inputs = [decode(envelope.input) for envelope in trace.envelopes]
    assert [entry["args"] for entry in inputs] == [[1], [], ["tea"], ["tea"], ["tea", 1, "red", "blue"]]
    assert [entry["kwargs"] for entry in inputs] == [{}, {}, {"size": 2}, {}, {}]
    assert block.replay(trace, lambda: wrong_calls(autochron.wrap(Shop()))) == (told, ())

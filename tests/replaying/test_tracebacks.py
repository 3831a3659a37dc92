"""Errors that pass through a wrapped client, a swapped function or an HTTP client's stream show no frame of autochron."""

import asyncio
import traceback

import pytest

import autochron
from tests.late import httpx


@pytest.fixture
def rules(tmp_path):
    """Return a rule file without rules."""
    file = tmp_path / "autochron.toml"
    file.write_text("version = 1\npacks = []\n", encoding="utf-8")
    return str(file)


def frames(function):
    """Return the files and functions in the traceback of a function's error, and those of its context."""
    with pytest.raises(Exception) as raised:
        function()
    errors = (raised.value, raised.value.__context__)
    return [
        [
            (frame.filename.rpartition("/")[2], frame.name)
            for frame in traceback.extract_tb(error.__traceback__)
        ]
        for error in errors
        if error is not None
    ]


def recorded_and_replayed(rules, function):
    """Return the frames of an error in a recording and in the replay."""
    with autochron.record(store="memory:", rules=rules) as recording:
        recorded = frames(function)
    with autochron.replay(recording.trace(), rules=rules):
        return recorded, frames(function)


class Broker:
    """A client whose methods fail."""

    def __enter__(self):
        raise ValueError("enter")

    def __exit__(self, *_):
        pass

    async def __aenter__(self):
        raise ValueError("enter later")

    async def __aexit__(self, *_):
        pass

    def quote(self):
        raise ValueError("quote")

    async def order(self):
        await asyncio.sleep(0)
        raise ValueError("order")

    def prices(self):
        yield 1
        raise ValueError("prices")

    @property
    def positions(self):
        raise ValueError("positions")


def enters(client):
    with client:
        pass


async def enters_later(client):
    async with client:
        pass


USES = {
    "call": lambda client: client.quote(),
    "call with wrong arguments": lambda client: client.quote(1),
    "coroutine": lambda client: asyncio.run(client.order()),
    "generator": lambda client: list(client.prices()),
    "property": lambda client: client.positions,
    "attribute": lambda client: client.missing,
    "enters": enters,
    "enters later": lambda client: asyncio.run(enters_later(client)),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_an_error_of_a_wrapped_client(use, rules):
    expected = frames(lambda: use(Broker()))
    assert frames(lambda: use(autochron.wrap(Broker()))) == expected
    recorded, replayed = recorded_and_replayed(rules, lambda: use(autochron.wrap(Broker())))
    assert recorded == expected
    assert replayed == expected


@autochron.boundary
def pays():
    return 1


@autochron.boundary
async def pays_later():
    return 1


@autochron.boundary
def pays_often():
    yield 1
    yield 2


@autochron.boundary
async def pays_often_later():
    yield 1
    yield 2


def fails():
    raise ValueError("fails")


async def fails_later():
    await asyncio.sleep(0)
    fails()


def fails_often():
    try:
        yield 1
    finally:
        fails()


async def fails_often_later():
    try:
        yield 1
    finally:
        fails()


async def throws(stream):
    await anext(stream)
    await stream.athrow(KeyError())


def thrown(stream):
    next(stream)
    stream.throw(KeyError())


async def reads(stream):
    return [item async for item in stream]


SWAPS = {
    "function": (pays, fails, lambda function: function()),
    "coroutine": (pays_later, fails_later, lambda function: asyncio.run(function())),
    "generator": (pays_often, fails_often, lambda function: list(function())),
    "thrown": (pays_often, fails_often, lambda function: thrown(function())),
    "async generator": (pays_often_later, fails_often_later, lambda function: asyncio.run(reads(function()))),
    "async thrown": (pays_often_later, fails_often_later, lambda function: asyncio.run(throws(function()))),
}


@pytest.mark.parametrize(("old", "new", "use"), SWAPS.values(), ids=SWAPS)
def test_an_error_of_a_replacement(old, new, use, rules):
    expected = frames(lambda: use(new))
    with autochron.record(store="memory:", rules=rules) as recording:
        try:
            use(old)
        except KeyError:
            pass
    options = {"live": old.__name__, "swap": {f"{__name__}:{old.__name__}": new}}
    with autochron.replay(recording.trace(), rules=rules, check=False, **options):
        assert frames(lambda: use(old)) == expected


def test_a_replacement_that_fails_when_it_is_closed_raises(rules):
    def closes():
        stream = pays_often()
        next(stream)
        stream.close()

    with autochron.record(store="memory:", rules=rules) as recording:
        closes()
    options = {"live": "pays_often", "swap": {f"{__name__}:pays_often": fails_often}}
    with autochron.replay(recording.trace(), rules=rules, check=False, **options):
        [entries, *_] = frames(closes)
    assert [name for _, name in entries] == ["frames", "closes", "pays_often", "fails_often", "fails"]


def transport():
    """Return a transport for `httpx` that answers each request with a body that breaks off."""

    class Broken(httpx.SyncByteStream, httpx.AsyncByteStream):
        """A body that breaks off."""

        def __iter__(self):
            yield b'{"a":'
            raise httpx.ReadError("broken")

        async def __aiter__(self):
            yield b'{"a":'
            raise httpx.ReadError("broken")

    class Transport(httpx.BaseTransport, httpx.AsyncBaseTransport):
        """Answers each request with a broken body."""

        def handle_request(self, request):
            return httpx.Response(200, stream=Broken())

        async def handle_async_request(self, request):
            return httpx.Response(200, stream=Broken())

    return Transport()


def asks():
    with (
        httpx.Client(transport=transport()) as client,
        client.stream("POST", "http://model/v1/chat/completions", json={}) as response,
    ):
        response.read()


def asks_later():
    async def run():
        async with (
            httpx.AsyncClient(transport=transport()) as client,
            client.stream("POST", "http://model/v1/chat/completions", json={}) as response,
        ):
            await response.aread()

    asyncio.run(run())


@pytest.mark.sdks
@pytest.mark.parametrize("ask", [asks, asks_later])
def test_an_error_of_a_stream_of_httpx(ask, tmp_path):
    file = tmp_path / "autochron.toml"
    file.write_text(
        'version = 1\npacks = []\n[[boundary]]\nname = "agent"\nkind = "model"\nhttp = "POST */chat/completions"\n',
        encoding="utf-8",
    )
    expected = frames(ask)
    recorded, replayed = recorded_and_replayed(str(file), ask)
    assert recorded == expected
    # The frames below the client's own are not recorded.
    assert [entries for entries in replayed if entries] == [
        theirs[: len(entries)] for entries, theirs in zip(replayed, expected, strict=True) if entries
    ]

"""HTTP clients other than httpx: how aiohttp exchanges are recorded and served."""

import asyncio

import pytest

import autochron
from autochron import provider
from autochron.http.clients import door_of
from autochron.model import Exchange
from tests.late import httpx

pytestmark = pytest.mark.sdks

RULES = 'version = 1\npacks = []\n[[boundary]]\nname = "agent"\nkind = "model"\nhttp = "POST */chat/completions"\n'
REQUEST = {"model": "m", "messages": [{"role": "user", "content": "Hello."}]}


@pytest.fixture
def rules(tmp_path):
    file = tmp_path / "autochron.toml"
    file.write_text(RULES, encoding="utf-8")
    return str(file)


def recorded_and_replayed(rules, use):
    """Use a provider while recording and while replaying; return both results and the trace."""
    with provider.serve() as model, autochron.record(store="memory:", rules=rules) as recording:
        recorded = use(model.url)
    assert not recording.problems
    trace = recording.trace()
    with autochron.replay(trace, rules=rules):
        return recorded, use(model.url), trace


def in_aiohttp(read, **options):
    aiohttp = pytest.importorskip("aiohttp")

    async def run(url):
        async with (
            aiohttp.ClientSession(**options) as session,
            session.post(f"{url}/chat/completions", **ASK) as response,
        ):
            return response.status, response.headers["Request-Id"], await read(response)

    return lambda url: asyncio.run(run(url))


ASK = {"json": REQUEST}


def test_a_whole_response_of_aiohttp_is_served(rules):
    recorded, replayed, trace = recorded_and_replayed(rules, in_aiohttp(lambda response: response.json()))
    assert recorded == replayed
    assert recorded[0] == 200
    [envelope] = trace.envelopes
    assert envelope.input.startswith(b'{"body":{"model":"m"')
    assert envelope.exchanges[0].complete


async def _lines(response):
    return [line async for line in response.content]


async def _first(response):
    return await response.content.readline()


async def _parts(response):
    return (
        b"".join([chunk async for chunk in response.content.iter_chunked(7)]),
        response.content.at_eof(),
    )


@pytest.mark.parametrize("read", [_lines, _first, _parts])
def test_a_streamed_response_of_aiohttp_is_served(rules, read, monkeypatch):
    monkeypatch.setitem(ASK, "json", {**REQUEST, "stream": True})
    recorded, replayed, _ = recorded_and_replayed(rules, in_aiohttp(read))
    assert recorded == replayed
    assert recorded[2]


def test_a_client_that_sends_through_another_makes_one_crossing_with_one_exchange(rules):
    aiohttp = pytest.importorskip("aiohttp")

    class Through(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request):
            async with (
                aiohttp.ClientSession() as session,
                session.request(request.method, str(request.url), data=request.content) as response,
            ):
                return httpx.Response(response.status, content=await response.read())

    async def run(url):
        async with httpx.AsyncClient(transport=Through()) as client:
            return (await client.post(f"{url}/chat/completions", json=REQUEST)).json()

    recorded, replayed, trace = recorded_and_replayed(rules, lambda url: asyncio.run(run(url)))
    assert recorded == replayed
    assert [(envelope.address, len(envelope.exchanges)) for envelope in trace.envelopes] == [("agent[1]", 1)]


def test_query_parameters_of_aiohttp_are_part_of_the_url(rules, monkeypatch):
    monkeypatch.setitem(ASK, "params", {"a": "1"})
    _, _, trace = recorded_and_replayed(rules, in_aiohttp(lambda response: response.json()))
    assert b'"path":"/v1/chat/completions?a=1"' in trace.envelopes[0].input


def test_a_body_of_aiohttp_that_was_not_read_to_its_end_is_served_as_far_as_it_was_read():
    aiohttp = pytest.importorskip("aiohttp")

    async def run():
        async with aiohttp.ClientSession() as session:
            names = ("self", "method", "str_or_url")
            arguments = (session, "GET", "http://h.invalid/x")
            exchange = Exchange(
                method="GET",
                url="http://h.invalid/x",
                request=b"null",
                status=200,
                body=b'{"text":"part"}',
                complete=False,
            )
            response = door_of("aiohttp.client").rebuilt(exchange, names, arguments)
            assert await response.content.readany() == b"part"
            with pytest.raises(aiohttp.ClientPayloadError, match="read no further than this"):
                await response.content.readany()

    asyncio.run(run())

"""LiteLLM under its pack: sync, async and streamed; to OpenAI through its SDK, to Anthropic without one."""

import http.server
import json
import socket
import threading
from importlib.util import find_spec
from pathlib import Path

import pytest

from autochron.provider import Call, Script, Step
from tests.packs.harness import needs, record_and_replay

pytestmark = needs("litellm", "openai")

LOCAL = {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}
SHOP = Script(
    (
        Step(
            turn=0, text="{random}", calls=(Call.of("quote", item="{random}"), Call.of("stock", item="mug"))
        ),
        Step(turn=1, calls=(Call.of("stock", item="{random}"),)),
        Step(text="{random}"),
    )
)


@pytest.mark.thorough
def test_a_loop_with_tools_on_two_providers(tmp_path):
    recorded = record_and_replay("litellm_chat", tmp_path, SHOP, tools="quote stock", **LOCAL)
    assert recorded.addresses("model", "tool", "router") == [
        *("model[1]", "quote[1]", "stock[1]", "model[2]", "stock[2]", "model[3]"),
        *("model[4]", "quote[2]", "stock[3]", "model[5]", "stock[4]", "model[6]"),
    ]
    assert recorded.calls == 6
    models = [envelope for envelope in recorded.trace.envelopes if envelope.kind == "model"]
    assert {envelope.parent for envelope in models} == {None}
    assert [json.loads(envelope.meta)["model"] for envelope in models] == ["gpt-4.1-mini"] * 3 + [
        "claude-sonnet-4-5"
    ] * 3
    assert [json.loads(envelope.meta).get("tools") for envelope in models] == [
        ["quote", "stock"],
        ["stock"],
        None,
    ] * 2
    assert all(json.loads(envelope.meta)["usage"] for envelope in models)


@pytest.mark.thorough
def test_complete_streams_closed_streams_and_errors(tmp_path):
    recorded = record_and_replay("litellm_stream", tmp_path, Script(), **LOCAL)
    assert recorded.addresses("model", "tool", "router") == [f"model[{number}]" for number in range(1, 7)]
    assert recorded.calls == 6
    assert recorded.output.count("CustomStreamWrapper") == 2
    assert recorded.output.count("BadRequestError 400") == 2


@pytest.mark.thorough
def test_calls_at_once_and_streams_in_asyncio(tmp_path):
    recorded = record_and_replay("litellm_async", tmp_path, Script(), **LOCAL)
    assert recorded.addresses("model", "tool", "router") == [
        *(f"model[{number}]" for number in range(1, 9)),
        "embeddings[1]",
    ]
    assert recorded.calls == 9
    lanes = [envelope.lane for envelope in recorded.trace.envelopes if envelope.kind == "model"]
    assert lanes == [*(f"0/ask.{number}" for number in range(1, 7)), "0", "0", "0"]


class Prices(http.server.BaseHTTPRequestHandler):
    """Serves the library's own prices and one more, and counts the requests."""

    requests = 0

    def do_GET(self):
        Prices.requests += 1
        file = Path(find_spec("litellm").origin).with_name("model_prices_and_context_window_backup.json")
        price = {"input_cost_per_token": 1e-06, "output_cost_per_token": 2e-06, "litellm_provider": "openai"}
        body = json.dumps(
            {**json.loads(file.read_text("utf-8")), "mug-1": price, "openai/mug-1": price}
        ).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def prices():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Prices)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/prices.json"
    server.shutdown()
    server.server_close()


@pytest.mark.thorough
def test_fetched_prices_are_served(tmp_path, prices):
    Prices.requests = 0
    recorded = record_and_replay("litellm_prices", tmp_path, Script(), LITELLM_MODEL_COST_MAP_URL=prices)
    assert Prices.requests == 1
    assert "1e-06" in recorded.output
    assert recorded.addresses() == ["cost_map[1]", "model[1]", "litellm.id[1]"]
    assert recorded.trace.footer.connections == ()


@pytest.mark.thorough
def test_prices_that_cannot_be_fetched_come_from_the_library(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        dead_url = f"http://127.0.0.1:{server.getsockname()[1]}/prices.json"
    recorded = record_and_replay("litellm_prices", tmp_path, Script(), LITELLM_MODEL_COST_MAP_URL=dead_url)
    assert recorded.output.startswith("no mug ")
    # A thread of the library retries after a while if the program still runs.
    assert [envelope.address for envelope in recorded.trace.envelopes if envelope.lane == "0"][:2] == [
        "cost_map[1]",
        "model[1]",
    ]
    assert recorded.trace.footer.connections == ()


@pytest.mark.thorough
def test_calls_that_send_nothing_are_served_by_their_value(tmp_path):
    recorded = record_and_replay("litellm_mocked", tmp_path, Script(), **LOCAL)
    assert recorded.addresses("model") == ["model[1]", "model[2]"]
    assert recorded.calls == 0
    assert "ModelResponse chatcmpl-" in recorded.output
    assert "Provider List" in recorded.output  # printed by the library inside the failing call

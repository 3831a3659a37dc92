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
    models = [each for each in recorded.trace.envelopes if each.kind == "model"]
    assert {each.parent for each in models} == {None}
    assert [json.loads(each.meta)["model"] for each in models] == ["gpt-4.1-mini"] * 3 + [
        "claude-sonnet-4-5"
    ] * 3
    assert [json.loads(each.meta).get("tools") for each in models] == [
        ["quote", "stock"],
        ["stock"],
        None,
    ] * 2
    assert all(json.loads(each.meta)["usage"] for each in models)


@pytest.mark.thorough
def test_streams_whole_and_closed_and_errors(tmp_path):
    recorded = record_and_replay("litellm_stream", tmp_path, Script(), **LOCAL)
    assert recorded.addresses("model", "tool", "router") == [f"model[{number}]" for number in range(1, 7)]
    assert recorded.calls == 6
    assert recorded.said.count("CustomStreamWrapper") == 2
    assert recorded.said.count("BadRequestError 400") == 2


@pytest.mark.thorough
def test_calls_at_once_and_streams_in_asyncio(tmp_path):
    recorded = record_and_replay("litellm_async", tmp_path, Script(), **LOCAL)
    assert recorded.addresses("model", "tool", "router") == [
        *(f"model[{number}]" for number in range(1, 9)),
        "embeddings[1]",
    ]
    assert recorded.calls == 9
    lanes = [each.lane for each in recorded.trace.envelopes if each.kind == "model"]
    assert lanes == [*(f"0/ask.{number}" for number in range(1, 7)), "0", "0", "0"]


class Prices(http.server.BaseHTTPRequestHandler):
    """Serves the prices that are part of the library, and one more."""

    asked = 0

    def do_GET(self):
        Prices.asked += 1
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
def test_prices_that_are_fetched_are_served(tmp_path, prices):
    Prices.asked = 0
    recorded = record_and_replay("litellm_prices", tmp_path, Script(), LITELLM_MODEL_COST_MAP_URL=prices)
    assert Prices.asked == 1
    assert "1e-06" in recorded.said
    assert recorded.addresses() == ["cost_map[1]", "model[1]", "litellm.id[1]"]
    assert recorded.trace.footer.connections == ()


@pytest.mark.thorough
def test_prices_that_cannot_be_fetched_are_those_of_the_library(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        gone = f"http://127.0.0.1:{server.getsockname()[1]}/prices.json"
    recorded = record_and_replay("litellm_prices", tmp_path, Script(), LITELLM_MODEL_COST_MAP_URL=gone)
    assert recorded.said.startswith("no mug ")
    # A thread of the library's own tries again after a while, if the program is still there.
    assert [each.address for each in recorded.trace.envelopes if each.lane == "0"][:2] == [
        "cost_map[1]",
        "model[1]",
    ]
    assert recorded.trace.footer.connections == ()


@pytest.mark.thorough
def test_calls_that_send_nothing_are_served_by_their_value(tmp_path):
    recorded = record_and_replay("litellm_mocked", tmp_path, Script(), **LOCAL)
    assert recorded.addresses("model") == ["model[1]", "model[2]"]
    assert recorded.calls == 0
    assert "ModelResponse chatcmpl-" in recorded.said
    assert "Provider List" in recorded.said  # which the library prints inside of the call that fails

"""xAI's API by gRPC: whole, streamed and deferred answers, errors, and what happens without the packages."""

import importlib.util
import subprocess
import sys
import time
from datetime import timedelta

import pytest

from autochron import provider
from autochron.provider import Call, Script, Step
from tests.late import LateLibrary
from tests.provider.conftest import WEATHER

IS_INSTALLED = importlib.util.find_spec("xai_sdk") is not None
ON_THE_SDK = [pytest.mark.sdks, pytest.mark.skipif(not IS_INSTALLED, reason="xai-sdk is not installed")]
grpc, chat, sdk = (LateLibrary(name) for name in ("grpc", "xai_sdk.chat", "xai_sdk"))

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
MORE = Script(
    (
        *WEATHER.steps,
        Step(
            when=("story",), text="{random} {random} {random} {random}"
        ),  # by chance it would tell none at times
        *(
            Step(when=(f"status {status}",), fault=str(status))
            for status in (400, 401, 403, 404, 418, 429, 500)
        ),
        Step(when=("break",), text="{random} {random} {random} {random}", fault="disconnect"),
        Step(when=("stop",), text="{random} {random} {random} {random}", fault="stall"),
        Step(when=("try again",), text="at last", fault="503*2"),
    )
)


def client(model, **options):
    return sdk.Client(api_key="key", api_host=model.grpc, **options)


def conversation(model, *said, **options):
    return client(model).chat.create(model="grok", messages=[chat.user(text) for text in said], **options)


@pytest.fixture(scope="module")
def running():
    with provider.serve(script=MORE, grpc=True) as model:
        yield model


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.sdks
@pytest.mark.skipif(not IS_INSTALLED, reason="xai-sdk is not installed")
def test_a_conversation_with_tools(running, streams):
    tools = [chat.tool(name="weather", description="", parameters=SCHEMA)]
    talk = conversation(running, "How is the weather?", tools=tools)

    def respond():
        return [*talk.stream()][-1][0] if streams else talk.sample()

    first = respond()
    assert first.content in ("Let me look.", "Let me see.")
    assert first.finish_reason == "REASON_TOOL_CALLS"
    assert [call.function.name for call in first.tool_calls] == ["weather", "weather"]
    assert first.tool_calls[0].function.arguments == '{"city": "Oslo"}'
    assert {chat.chat_pb2.ToolCallType.Name(call.type) for call in first.tool_calls} == {
        "TOOL_CALL_TYPE_CLIENT_SIDE_TOOL"
    }
    assert first.usage.total_tokens == first.usage.prompt_tokens + first.usage.completion_tokens > 0
    talk.append(first)
    for call in first.tool_calls:
        talk.append(chat.tool_result("sunny", call.id))
    last = respond()
    assert last.content.startswith("It is ")
    assert (last.finish_reason, list(last.tool_calls)) == ("REASON_STOP", [])


class TestAnswers:
    pytestmark = ON_THE_SDK

    def test_a_stream_comes_in_pieces_and_ends_with_usage(self, running):
        chunks = [chunk for _, chunk in conversation(running, "a story").stream()]
        assert len(chunks) > 1
        assert [chunk.proto.usage.total_tokens > 0 for chunk in chunks] == [
            *[False] * (len(chunks) - 1),
            True,
        ]

    def test_several_answers_at_once(self, running):
        assert len({response.content for response in conversation(running, "a story").sample_batch(3)}) == 1

    def test_a_deferred_answer_is_pending_once(self, running):
        assert conversation(running, "weather").defer(interval=timedelta(milliseconds=5)).content

    def test_a_structured_answer_fits_its_schema(self, running):
        import pydantic

        class Verdict(pydantic.BaseModel):
            text: str
            score: int

        _, parsed = conversation(running, "judge").parse(Verdict)
        assert type(parsed) is Verdict

    def test_tokens_are_words(self, running):
        tokens = client(running).tokenize.tokenize_text("Once upon a time", model="grok")
        assert [token.string_token for token in tokens] == ["Once", "upon", "a", "time"]

    def test_calls_are_counted_with_those_by_http(self, running):
        before = running.calls
        conversation(running, "a story").sample()
        assert running.calls == before + 1
        assert "/xai_api.Chat/GetCompletion" in dict(running.stats.by_endpoint)

    def test_a_client_without_credentials_for_the_channel_is_served_too(self, running):
        insecure = client(running, use_insecure_channel=True)
        assert insecure.chat.create(model="grok", messages=[chat.user("slow")]).sample().content == "late"


class TestFaults:
    pytestmark = ON_THE_SDK

    @pytest.mark.parametrize(
        ("status", "code"),
        [
            (400, "INVALID_ARGUMENT"),
            (401, "UNAUTHENTICATED"),
            (403, "PERMISSION_DENIED"),
            (404, "NOT_FOUND"),
            (418, "FAILED_PRECONDITION"),
            (429, "RESOURCE_EXHAUSTED"),
            (500, "INTERNAL"),
        ],
    )
    def test_a_status_becomes_a_code(self, running, status, code):
        with pytest.raises(grpc.RpcError) as raised:
            conversation(running, f"status {status}").sample()
        assert (raised.value.code().name, raised.value.details()) == (code, f"{status} on request")

    def test_a_request_without_messages_is_refused(self, running):
        with pytest.raises(grpc.RpcError) as raised:
            chat.chat_pb2_grpc.ChatStub(client(running)._api_channel).GetCompletion(
                chat.chat_pb2.GetCompletionsRequest(model="grok")
            )
        assert raised.value.details() == "'messages' must not be empty"

    def test_a_stream_breaks_off_half_way(self, running):
        chunks = []
        with pytest.raises(grpc.RpcError) as raised:
            chunks += (chunk for _, chunk in conversation(running, "break").stream())
        assert raised.value.code().name == "ABORTED"

    def test_an_answer_that_never_comes_meets_the_deadline(self, running):
        impatient = client(running, timeout=0.3)
        begun = time.monotonic()
        with pytest.raises(grpc.RpcError) as raised:
            impatient.chat.create(model="grok", messages=[chat.user("stop")]).sample()
        assert raised.value.code().name == "DEADLINE_EXCEEDED"
        assert time.monotonic() - begun < 5

    def test_the_sdk_tries_again_where_the_service_is_unavailable(self, running):
        before = running.calls
        assert conversation(running, "try again").sample().content == "at last"
        assert running.calls == before + 3

    def test_a_call_of_an_unknown_id_is_not_found(self, running):
        with pytest.raises(grpc.RpcError) as raised:
            chat.chat_pb2_grpc.ChatStub(client(running)._api_channel).GetDeferredCompletion(
                LateLibrary("xai_sdk.proto").deferred_pb2.GetDeferredRequest(request_id="none")
            )
        assert raised.value.code().name == "NOT_FOUND"


def test_a_port_that_is_taken_is_refused():
    if not IS_INSTALLED:
        pytest.skip("xai-sdk is not installed")
    with provider.serve(grpc=True) as model:
        port = model.grpc.rpartition(":")[2]
        command = [sys.executable, "-m", "autochron.provider", "--grpc-port", port]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"no gRPC server on port {port}" in done.stderr


def test_without_the_packages_the_command_names_the_extra():
    code = (
        "import importlib.util, sys; find = importlib.util.find_spec;"
        "importlib.util.find_spec = lambda name, *more: None if name == 'xai_sdk' else find(name, *more);"
        "from autochron.provider.__main__ import main; sys.exit(main(['--grpc-port', '0']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    message = "the provider's gRPC server needs xai-sdk: pip install 'autochron[xai]' (missing-extra)\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", message)


def test_a_provider_without_grpc_has_no_address():
    with provider.serve(script=Script((Step(calls=(Call.of("f"),)),))) as model:
        assert model.grpc == ""

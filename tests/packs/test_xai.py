"""The pack of xai-sdk, which speaks gRPC, on the real package and the loopback provider."""

import shutil

import pytest
from msgspec.json import decode

from autochron import provider
from autochron.provider import Script, Step
from tests.packs.harness import PROGRAMS, Surrounded, needs
from tests.packs.runs import addresses, record_and_replay_twice

pytestmark = needs("xai-sdk")


def variables(model):
    return {"XAI_API_HOST": model.grpc, "XAI_API_KEY": "key"}


def test_the_synchronous_client(tmp_path):
    findings = ("xai_sync.py:88 os.environ",)
    trace = record_and_replay_twice(tmp_path, "xai_sync", variables, "weather", findings, grpc=True)
    assert addresses(trace) == [
        *("model[1]", "weather[1]", "model[2]"),
        *("model[3]", "weather[2]", "model[4]"),
        *("model[5]", "model[6]", "model[7]", "model[8]", "xai[1]", "model[9]", "model[10]"),
    ]
    exchanges = [len(envelope.exchanges) for envelope in trace.envelopes]
    # A deferred answer is started, is pending once, and is done.
    assert exchanges == [1, 0, 1, 1, 0, 1, 1, 1, 3, 1, 1, 1, 1]
    plain, streamed = decode(trace.envelopes[0].meta), decode(trace.envelopes[3].meta)
    assert (plain["model"], plain["sampling"], plain["tools"]) == (
        "grok-4",
        {"temperature": pytest.approx(0.2), "n": 1},
        ["weather"],
    )
    assert plain["sdk"].startswith("xai-sdk ")
    assert streamed["tools"] == ["weather"]
    assert (
        {"prompt_tokens", "completion_tokens", "total_tokens"}
        <= streamed["usage"].keys()
        == plain["usage"].keys()
    )
    assert "usage" in decode(trace.envelopes[8].meta)
    first = trace.envelopes[0].exchanges[0]
    assert first.body.startswith(b'{"messages":[{"id":"')
    assert decode(first.body)["type"] == "xai_api.GetChatCompletionResponse"
    assert first.url.endswith("/xai_api.Chat/GetCompletion")
    assert ("grpc-status", "0") in first.headers


def test_the_asynchronous_client(tmp_path):
    findings = ("xai_async.py:55 os.environ",)
    trace = record_and_replay_twice(tmp_path, "xai_async", variables, "weather", findings, grpc=True)
    assert addresses(trace)[:4] == ["model[1]", "weather[1]", "model[2]", "model[3]"]
    assert {envelope.name for envelope in trace.envelopes} == {"model", "weather", "xai"}
    failed = [envelope.exchanges[0].headers for envelope in trace.envelopes[-2:]]
    assert [("grpc-status", "3") in headers for headers in failed] == [True, True]


def run_bare(folder, rules):
    """Record the program with a single call under some rules, and replay it without a server."""
    shutil.copy(PROGRAMS / "grpc_bare.py", folder)
    (folder / "autochron.toml").write_text(f"version = 1\npacks = []\n{rules}", encoding="utf-8")
    with provider.serve(grpc=True) as model:
        recorded = Surrounded(variables(model)).run(folder, "run", "grpc_bare.py")
    assert (recorded.status, recorded.stdout) == (0, b"4\n"), recorded.stderr
    stopped = {"XAI_API_HOST": model.grpc, "XAI_API_KEY": "key"}
    return recorded, Surrounded(stopped).run(folder, "replay", "last"), model.grpc


def test_a_call_outside_every_crossing_is_named_and_refused_on_replay(tmp_path):
    recorded, replayed, address = run_bare(tmp_path, "")
    assert (
        f"network outside every crossing: {address} at grpc_bare.py:8 (unmarked-network)" in recorded.stderr
    )
    assert replayed.status == 1
    assert f"grpc_bare.py:8 reaches for {address} outside every live crossing" in replayed.stderr


def test_a_rule_for_requests_takes_calls(tmp_path):
    rule = '[[boundary]]\nname = "tokens"\nkind = "model"\nhttp = "POST grpc://*/xai_api.Tokenize/*"\n'
    recorded, replayed, _ = run_bare(tmp_path, rule)
    assert "tokens ×1" in recorded.stderr
    assert (replayed.status, replayed.stdout) == (0, b"4\n"), replayed.stderr


FAILING = """
import asyncio, os
import grpc
from xai_sdk import AsyncClient, Client
from xai_sdk.chat import user


host = os.environ["XAI_API_HOST"]
client = Client(api_host=host)


def fail():
    client.chat.create(model="m", messages=[user("fail")]).sample()


async def fail_later():
    await AsyncClient(api_host=host).chat.create(model="m", messages=[user("fail")]).sample()


def show(run):
    try:
        run()
    except grpc.RpcError as error:
        print(error, type(error), error.code(), error.details(), error.initial_metadata(), error.trailing_metadata())


show(fail)
show(lambda: asyncio.run(fail_later()))
"""
TOOLS = '[[boundary]]\nname = "{__name__}"\nkind = "tool"\ndefine = "failing:fail*"\n'
REQUESTS = '[[boundary]]\nname = "chat"\nkind = "model"\nhttp = "POST grpc://*/xai_api.Chat/*"\n'


@pytest.mark.parametrize("rules", [TOOLS, REQUESTS], ids=["of a tool", "of a request"])
def test_an_error_is_raised_again_as_it_was(rules, tmp_path):
    (tmp_path / "failing.py").write_text(FAILING, encoding="utf-8")
    (tmp_path / "autochron.toml").write_text(f"version = 1\npacks = []\n{rules}", encoding="utf-8")
    with provider.serve(script=Script((Step(fault="400"),)), grpc=True) as model:
        runner = Surrounded(variables(model))
        recorded = runner.run(tmp_path, "run", "failing.py")
    assert recorded.status == 0, recorded.stderr
    assert recorded.stdout.count(b"INVALID_ARGUMENT") >= 4
    replayed = runner.run(tmp_path, "replay", "last")
    assert (replayed.status, replayed.stdout) == (0, recorded.stdout), replayed.stderr

"""The pack of ollama, on the real package and the loopback provider."""

from msgspec.json import decode

from tests.packs.harness import needs
from tests.packs.runs import addresses, record_and_replay_twice

pytestmark = needs("ollama")


def variables(model):
    return {"OLLAMA_HOST": model.origin}


def test_the_synchronous_client(tmp_path):
    trace = record_and_replay_twice(tmp_path, "ollama_sync", variables, "weather")
    assert addresses(trace) == [
        *("model[1]", "weather[1]", "model[2]"),
        *("model[3]", "weather[2]", "model[4]"),
        *("model[5]", "model[6]", "model[7]", "model[8]", "model[9]"),
    ]
    assert [len(envelope.exchanges) for envelope in trace.envelopes] == [1, 0, 1, 1, 0, 1, 1, 0, 1, 1, 1]
    plain, streamed = decode(trace.envelopes[0].meta), decode(trace.envelopes[3].meta)
    assert (plain["model"], plain["sampling"], plain["tools"]) == (
        "llama3.2",
        {"temperature": 0.3},
        ["weather"],
    )
    assert streamed["tools"] == ["weather"]
    assert set(streamed["usage"]) == set(plain["usage"]) == {"prompt_eval_count", "eval_count"}
    assert trace.envelopes[3].exchanges[0].body.startswith(b'{"lines":[{"model":"llama3.2"')


def test_the_asynchronous_client(tmp_path):
    trace = record_and_replay_twice(tmp_path, "ollama_async", variables, "weather")
    assert addresses(trace) == [
        *("model[1]", "weather[1]", "model[2]", "model[3]"),
        *("model[4]", "model[5]", "model[6]"),
    ]
    assert [len(envelope.exchanges) for envelope in trace.envelopes] == [1, 0, 1, 1, 1, 1, 1]

"""The pack of mistralai, on the real package and the loopback provider."""

import pytest
from msgspec.json import decode

from tests.packs.harness import needs
from tests.packs.runs import addresses, record_and_replay_twice

pytestmark = needs("mistralai")


ENVIRONMENT = ("mistral_async.py:38 os.environ", "mistral_async.py:39 os.environ")


def variables(model):
    return {"MISTRAL_URL": f"{model.origin}/mistral", "MISTRAL_API_KEY": "key"}


@pytest.mark.thorough
def test_the_synchronous_client(tmp_path):
    trace = record_and_replay_twice(
        tmp_path, "mistral_sync", variables, "weather", ("mistral_sync.py:65 os.environ",)
    )
    assert addresses(trace) == [
        *("model[1]", "weather[1]", "model[2]"),
        *("model[3]", "weather[2]", "model[4]"),
        *("model[5]", "model[6]", "model[7]"),
    ]
    assert [len(envelope.exchanges) for envelope in trace.envelopes] == [1, 0, 1, 1, 0, 1, 1, 1, 1]
    plain, streamed = decode(trace.envelopes[0].meta), decode(trace.envelopes[3].meta)
    assert (plain["model"], plain["sampling"], plain["tools"]) == (
        "mistral-small",
        {"temperature": 0.2},
        ["weather"],
    )
    assert streamed["tools"] == ["weather"]
    assert set(streamed["usage"]) == {"prompt_tokens", "completion_tokens", "total_tokens"}


def test_the_asynchronous_client(tmp_path):
    trace = record_and_replay_twice(tmp_path, "mistral_async", variables, "weather", ENVIRONMENT)
    assert addresses(trace) == [
        *("model[1]", "weather[1]", "model[2]", "model[3]"),
        *("model[4]", "model[5]", "model[6]"),
    ]
    assert [len(envelope.exchanges) for envelope in trace.envelopes] == [1, 0, 1, 1, 1, 1, 1]

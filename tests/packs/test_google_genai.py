"""The pack of google-genai, on the real package and the loopback provider."""

import pytest
from msgspec.json import decode

from tests.packs.harness import needs
from tests.packs.runs import addresses, record_and_replay_twice

pytestmark = needs("google-genai")


def variables(model):
    return {"GOOGLE_GEMINI_BASE_URL": model.origin, "GOOGLE_API_KEY": "key"}


@pytest.mark.thorough
def test_the_synchronous_client(tmp_path):
    trace = record_and_replay_twice(
        tmp_path, "google_sync", variables, findings=("google_sync.py:38 os.environ",)
    )
    assert addresses(trace) == [
        *("model[1]", "weather[1]", "model[2]"),
        *("model[3]", "weather[2]", "model[4]"),
        *("model[5]", "weather[3]", "model[6]"),
        *("model[7]", "model[8]", "model[9]"),
    ]
    kinds = [envelope.kind for envelope in trace.envelopes]
    assert kinds == [*["model", "tool", "model"] * 3, *["model"] * 3]
    assert [len(envelope.exchanges) for envelope in trace.envelopes] == [*[1, 0, 1] * 3, 1, 1, 1]
    plain, streamed = decode(trace.envelopes[0].meta), decode(trace.envelopes[6].meta)
    assert (plain["model"], plain["sampling"], plain["tools"]) == (
        "gemini-2.5-flash",
        {"temperature": 0.2},
        ["weather"],
    )
    assert (streamed["model"], streamed["tools"]) == ("gemini-2.5-flash", ["weather"])
    assert streamed["usage"]["candidatesTokenCount"] > 0


def test_the_asynchronous_client(tmp_path):
    trace = record_and_replay_twice(tmp_path, "google_async", variables)
    assert addresses(trace) == [
        *("model[1]", "weather[1]", "model[2]", "model[3]"),
        *("model[4]", "model[5]", "model[6]", "model[7]"),
    ]
    assert [len(envelope.exchanges) for envelope in trace.envelopes] == [1, 0, 1, 1, 1, 1, 1, 1]

"""The pack of bedrock, on the real boto3 and the loopback provider. botocore has no asynchronous client."""

from msgspec.json import decode

from tests.packs.harness import needs
from tests.packs.runs import addresses, record_and_replay_twice

pytestmark = needs("boto3")


def variables(model):
    keys = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "a-secret-of-the-tests"}
    return {
        "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": model.origin,
        "AWS_REGION": "eu-central-1",
        "AWS_DEFAULT_REGION": "eu-central-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        **keys,
    }


def test_the_synchronous_client(tmp_path):
    trace = record_and_replay_twice(tmp_path, "bedrock_sync", variables, "weather")
    assert addresses(trace) == [
        *("model[1]", "weather[1]", "model[2]"),
        *("model[3]", "weather[2]", "model[4]"),
        *("model[5]", "model[6]", "model[7]", "model[8]"),
        *("model[9]", "model[10]"),
    ]
    assert [len(envelope.exchanges) for envelope in trace.envelopes] == [*[1, 0, 1] * 2, *[1] * 6]
    plain, streamed = decode(trace.envelopes[0].meta), decode(trace.envelopes[3].meta)
    assert (plain["model"], plain["sampling"], plain["tools"]) == (
        "anthropic.claude-sonnet-4-5-v1:0",
        {"temperature": 0.5},
        ["weather"],
    )
    assert streamed["tools"] == ["weather"]
    assert set(streamed["usage"]) == {"inputTokens", "outputTokens", "totalTokens"}
    body = decode(trace.envelopes[3].exchanges[0].body)
    assert body["frames"][0] == {
        "headers": {
            ":event-type": "messageStart",
            ":content-type": "application/json",
            ":message-type": "event",
        },
        "payload": {"role": "assistant"},
    }

"""The pack for pydantic-ai, on real agents."""

import re

import pytest

from autochron.provider import Call, Script, Step
from tests.packs.harness import needs, record_models, replay_again

pytestmark = needs("pydantic-ai-slim", "openai", "anthropic")

ORDER = {"number": 7, "total": "1.5", "due": "2026-01-02T03:04:05Z"}
REFUNDS = Script(
    (
        Step(turn=0, calls=(Call.of("look_up", number=700), Call.of("look_up", number=8), Call.of("now"))),
        Step(turn=1, text="Once more.", calls=(Call.of("look_up", number=7),)),
        Step(
            turn=2,
            calls=(Call.of("refund", order=ORDER), Call.of("refund", order={**ORDER, "number": 8}, why="x")),
        ),
        Step(turn=3, calls=(Call.of("final_result", text="{random}", refunded="3.0"),)),
    )
)


@pytest.mark.thorough
def test_tools_with_typed_arguments_and_dependencies(tmp_path):
    recorded = record_models(tmp_path, "pydantic_ai_sync", REFUNDS)
    assert recorded.addresses() == [
        *("model[1]", "look_up[1]", "look_up[2]", "now[1]", "model[2]", "look_up[3]"),
        *("model[3]", "refund[1]", "refund[2]", "model[4]", "final_result[1]"),
    ]
    assert {envelope.kind for envelope in recorded.trace.envelopes} == {"model", "tool"}
    assert recorded.slugs == set()
    assert recorded.command.stdout.startswith(b"Answer(text=")
    # Two at once run in threads, so either may come first.
    assert re.search(
        rb"Desk\(log=\[(700, 8|8, 700), 7\], receipts={\d: Receipt\(order=Order\(", recorded.command.stdout
    )
    replay_again(tmp_path, recorded)


def talk(city):
    """Return a model's steps: invalid tool calls, valid tool calls, an invalid answer and a valid answer."""
    at = "2026-01-02T03:04:05+01:00"
    invalid = (Call.of("shop_price", city=city, at="soon"), Call.of("guess", city=city))
    prices = (Call.of("shop_price", city=city, at=at), Call.of("shop_price", city=city, at=at))
    valid = (*prices, Call.of("shop_tip", city=city))
    answers = (invalid, valid, (Call.of("final_result"),), (Call.of("final_result", city=city),))
    return [Step(when=(city,), turn=turn, calls=calls) for turn, calls in enumerate(answers)]


def test_conversations_at_once_with_calls_that_are_refused(tmp_path):
    script = Script((Step(when=("A tip",), text="{random}"), *talk("Oslo"), *talk("Rome")))
    recorded = record_models(tmp_path, "pydantic_ai_async", script)
    assert len(recorded.addresses("model")) == 10
    names = [
        (envelope.kind, envelope.name) for envelope in recorded.trace.envelopes if envelope.kind != "model"
    ]
    assert sorted(names) == sorted(
        2
        * [
            *[("router", "shop_price"), ("router", "guess"), ("router", "final_result")],
            *[("tool", "shop_price"), ("tool", "shop_price"), ("tool", "shop_tip"), ("tool", "final_result")],
        ]
    )
    assert recorded.slugs == set()
    replay_again(tmp_path, recorded)


STREAMS = Script(
    (
        Step(
            when=("Rate",), turn=0, calls=(Call.of("visitors", city="Oslo"), Call.of("visitors", city="Rome"))
        ),
        Step(when=("Rate",), turn=1, calls=(Call.of("final_result", text="{random} {random}", stars=4),)),
        Step(turn=0, calls=(Call.of("visitors", city="Lima"),)),
        Step(turn=1, text="{random} {random}"),
    )
)


def test_a_stream_crosses_once_with_all_its_events(tmp_path):
    recorded = record_models(tmp_path, "pydantic_ai_streamed", STREAMS)
    assert recorded.addresses() == [
        *("model[1]", "visitors[1]", "visitors[2]", "model[2]", "final_result[1]"),
        *("model[3]", "visitors[3]", "visitors[4]", "model[4]", "final_result[2]"),
        *("model[5]", "visitors[5]", "model[6]"),
    ]
    assert recorded.slugs == set()
    assert recorded.command.stdout.count(b"part_delta") > 1
    replay_again(tmp_path, recorded)

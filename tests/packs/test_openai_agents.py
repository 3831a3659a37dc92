"""The pack for openai-agents, on real agents."""

import pytest

from autochron import provider
from autochron.provider import Call, Script, Step
from tests.agents.workshop import Fresh, assert_same
from tests.packs.harness import needs, record_models, replay_again

pytestmark = needs("openai-agents", "openai")

ORDER = {"number": 7, "due": "2026-01-02T03:04:05Z"}
REFUND = Call.of("refund", order=ORDER, why="broken")
REFUNDS = Script(
    (
        Step(turn=0, calls=(Call.of("look_up", number=700), Call.of("look_up", number=8))),
        Step(turn=1, text="It is one for refunds.", calls=(Call.of("transfer_to_refunds"),)),
        Step(turn=2, calls=(REFUND, Call.of("refund", order={**ORDER, "number": 8}, why=""))),
        Step(turn=3, text="{random}"),
    )
)


def test_tools_and_a_handoff(tmp_path):
    recorded = record_models(tmp_path, "openai_agents_sync", REFUNDS)
    assert recorded.addresses() == [
        *("model[1]", "look_up[1]", "look_up[2]", "model[2]", "transfer_to_refunds[1]"),
        *("model[3]", "refund[1]", "refund[2]", "model[4]"),
    ]
    assert recorded.addresses("router") == ["transfer_to_refunds[1]"]
    assert recorded.slugs == set()
    assert b"Refunds Desk(log=[700, 8])" in recorded.command.stdout
    assert b"An error occurred while running the tool" in recorded.command.stdout
    replay_again(tmp_path, recorded)


VISITS = Script(
    (
        Step(
            when=("Weather",),
            turn=0,
            calls=(Call.of("weather", city="{random}"), Call.of("weather", city="here")),
        ),
        Step(when=("Weather",), turn=1, text="{random}"),
        Step(turn=0, calls=(Call.of("forecast", input="Weather, please."),)),
        Step(turn=1, calls=(Call.of("to_the_clerk", reason="{random}"),)),
        Step(when=("Rome",), turn=2, text="{random}"),
        Step(when=("Lima",), turn=2, text="{random}"),
        Step(turn=2, calls=(Call.of("book", city="Oslo"),)),
    )
)
VISIT = ["model", "forecast", "model", "weather", "weather", "model", "model", "to_the_clerk", "model"]


@pytest.mark.thorough
def test_an_agent_as_a_tool_a_reason_and_an_error(tmp_path):
    recorded = record_models(tmp_path, "openai_agents_async", VISITS)
    names = [envelope.name for envelope in recorded.trace.envelopes]
    assert names[:10] == [*VISIT, "book"]
    assert sorted(names[10:]) == sorted(2 * VISIT)
    forecast = recorded.trace.envelopes[1]
    assert [envelope.name for envelope in recorded.trace.envelopes if envelope.parent == forecast.seq] == [
        *("model", "weather", "weather", "model")
    ]
    assert recorded.slugs == set()
    assert b"ValueError('Oslo is full: 0." in recorded.command.stdout
    assert recorded.command.stdout.count(b"Usage(requests=5,") == 2
    replay_again(tmp_path, recorded)


GAME = Script(
    (
        Step(turn=0, calls=(Call.of("transfer_to_player"),)),
        Step(turn=1, calls=(Call.of("roll", sides=6), Call.of("roll", sides=20))),
        Step(turn=2, text="{random} {random}"),
    )
)


def test_a_stream_of_events(tmp_path):
    recorded = record_models(tmp_path, "openai_agents_streamed", GAME)
    assert recorded.addresses() == [
        *("model[1]", "transfer_to_player[1]", "model[2]", "roll[1]", "roll[2]", "model[3]"),
    ]
    assert recorded.slugs == set()
    assert b"handoff_occured" in recorded.command.stdout
    replay_again(tmp_path, recorded)


TRACER = "via agents.tracing.processors.BatchTraceProcessor._run"


@pytest.mark.thorough
def test_requests_to_a_collector_are_network_outside_every_crossing(tmp_path):
    with provider.serve() as collector:
        script = Script((Step(text="{random}"),))
        recorded = record_models(
            tmp_path,
            "openai_agents_traced",
            script,
            findings=(
                "openai_agents_traced.py:9 os.environ",
                f"openai_agents_traced.py:14 socket.getaddrinfo {TRACER}",
                f"openai_agents_traced.py:14 socket.socket.connect {TRACER}",
            ),
            slugs=("unmarked-network",),
            COLLECTOR=collector.url,
        )
    address = collector.origin.removeprefix("http://")
    assert recorded.addresses() == ["model[1]"]
    assert recorded.slugs == {"unmarked-network", "unmarked-call"}
    assert f"network outside every crossing: {address}" in recorded.command.stderr
    replayed = Fresh().run(tmp_path, "replay", "last", COLLECTOR=collector.url)
    assert (replayed.status, replayed.stdout) == (0, recorded.command.stdout), replayed.stderr
    message = (
        f"a library that sends telemetry reaches for {address}, which is refused and changes nothing else"
    )
    assert message in replayed.stderr
    untraced = Fresh().run(tmp_path, "replay", "last", OPENAI_AGENTS_DISABLE_TRACING="1")
    assert_same(recorded.command, untraced, 0)

"""The pack for openai-agents, on real agents."""

from autochron import provider
from autochron.provider import Call, Script, Step
from tests.agents.workshop import Fresh, assert_same
from tests.packs.frameworks import addresses, needs, record, replay_again, told

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
    recorded, trace = record(tmp_path, "openai_agents_sync", REFUNDS)
    assert addresses(trace) == [
        *("model[1]", "look_up[1]", "look_up[2]", "model[2]", "transfer_to_refunds[1]"),
        *("model[3]", "refund[1]", "refund[2]", "model[4]"),
    ]
    assert addresses(trace, "router") == ["transfer_to_refunds[1]"]
    assert told(recorded) == set()
    assert b"Refunds Desk(log=[700, 8])" in recorded.stdout
    assert b"An error occurred while running the tool" in recorded.stdout
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


def test_an_agent_as_a_tool_a_reason_and_an_error(tmp_path):
    recorded, trace = record(tmp_path, "openai_agents_async", VISITS)
    names = [envelope.name for envelope in trace.envelopes]
    assert names[:10] == [*VISIT, "book"]
    assert sorted(names[10:]) == sorted(2 * VISIT)
    forecast = trace.envelopes[1]
    assert [envelope.name for envelope in trace.envelopes if envelope.parent == forecast.seq] == [
        *("model", "weather", "weather", "model")
    ]
    assert told(recorded) == set()
    assert b"ValueError('Oslo is full: 0." in recorded.stdout
    assert recorded.stdout.count(b"Usage(requests=5,") == 2
    replay_again(tmp_path, recorded)


GAME = Script(
    (
        Step(turn=0, calls=(Call.of("transfer_to_player"),)),
        Step(turn=1, calls=(Call.of("roll", sides=6), Call.of("roll", sides=20))),
        Step(turn=2, text="{random} {random}"),
    )
)


def test_a_stream_of_events(tmp_path):
    recorded, trace = record(tmp_path, "openai_agents_streamed", GAME)
    assert addresses(trace) == [
        *("model[1]", "transfer_to_player[1]", "model[2]", "roll[1]", "roll[2]", "model[3]"),
    ]
    assert told(recorded) == set()
    assert b"handoff_occured" in recorded.stdout
    replay_again(tmp_path, recorded)


def test_what_goes_to_a_collector_is_network_outside_every_crossing(tmp_path):
    with provider.serve() as collector:
        script = Script((Step(text="{random}"),))
        recorded, trace = record(tmp_path, "openai_agents_traced", script, COLLECTOR=collector.url)
    address = collector.origin.removeprefix("http://")
    assert addresses(trace) == ["model[1]"]
    assert told(recorded) == {
        "unmarked-network",
        "unmarked-call",
    }  # the second is the program's own look at its environment
    assert f"network outside every crossing: {address}" in recorded.stderr
    replayed = Fresh().run(tmp_path, "replay", "last", COLLECTOR=collector.url)
    assert (replayed.status, replayed.stdout) == (1, recorded.stdout)
    assert f"reaches for {address} outside every live crossing" in replayed.stderr
    untraced = Fresh().run(tmp_path, "replay", "last", OPENAI_AGENTS_DISABLE_TRACING="1")
    assert_same(recorded, untraced, 0)

"""The pack for smolagents, on real agents. The framework has no asynchronous form."""

from autochron.provider import Call, Script, Step
from tests.packs.harness import needs, record_models, replay_again

pytestmark = needs("smolagents", "openai")

TEAM = Script(
    (
        Step(when=("pay 7",), turn=0, calls=(Call.of("refund", number=7),)),
        Step(when=("refunded 7",), turn=1, calls=(Call.of("final_answer", answer="paid {random}"),)),
        Step(
            when=("has the number 700",), calls=(Call.of("look_up", number=7), Call.of("look_up", number=8))
        ),
        Step(turn=0, calls=(Call.of("look_up", number=700),)),
        Step(turn=1, calls=(Call.of("teller", task="Please pay 7."),)),
        Step(turn=2, calls=(Call.of("final_answer", answer="{random}"),)),
    )
)


def test_tools_at_once_an_error_and_a_team_member(tmp_path):
    recorded = record_models(tmp_path, "smolagents_tools", TEAM)
    assert recorded.addresses() == [
        *("model[1]", "look_up[1]", "model[2]", "look_up[2]", "look_up[3]", "model[3]", "teller[1]"),
        *("model[4]", "refund[1]", "model[5]", "final_answer[1]", "model[6]", "final_answer[2]"),
    ]
    teller = recorded.trace.envelopes[6]
    assert [envelope.address for envelope in recorded.trace.envelopes if envelope.parent == teller.seq] == [
        *("model[4]", "refund[1]", "model[5]", "final_answer[1]"),
    ]
    assert recorded.slugs == set()
    assert recorded.command.stdout.startswith(b"AgentText ")
    assert b"LookupError: no order has the number 700" in recorded.command.stdout
    replay_again(tmp_path, recorded)


FIRST = (
    "Thought: {random}\n<code>\nprint(roll(6), roll(sides=20))\nprint(poet(task='Write a line.'))\n</code>"
)
SECOND = """Thought: {random}
<code>
try:
    roll(1)
except ValueError as error:
    print(error)
final_answer(roll(100))
</code>"""
GAME = Script(
    (
        Step(when=("Write a line",), turn=0, calls=(Call.of("final_answer", answer="{random}"),)),
        Step(when=("Play",), turn=0, text=FIRST),
        Step(turn=1, text=SECOND),
    )
)


def test_tools_called_from_code(tmp_path):
    recorded = record_models(tmp_path, "smolagents_code", GAME)
    assert recorded.addresses() == [
        *("model[1]", "roll[1]", "roll[2]", "poet[1]", "model[2]", "final_answer[1]"),
        *("model[3]", "roll[3]", "roll[4]", "final_answer[2]"),
    ]
    assert recorded.slugs == set()
    assert b"no such die" in recorded.command.stdout
    replay_again(tmp_path, recorded)


STREAMS = Script(
    (
        Step(when=("CodeAgent",), turn=0, text="Thought: {random}\n<code>\nfinal_answer(roll(6))\n</code>"),
        Step(turn=0, text="{random}", calls=(Call.of("roll", sides=20),)),
        Step(turn=1, calls=(Call.of("final_answer", answer="{random}"),)),
    )
)


def test_streams_of_both_kinds(tmp_path):
    recorded = record_models(tmp_path, "smolagents_streamed", STREAMS)
    assert recorded.addresses() == [
        *("model[1]", "roll[1]", "model[2]", "final_answer[1]", "model[3]", "roll[2]", "final_answer[2]"),
    ]
    assert recorded.slugs == set()
    assert recorded.command.stdout.count(b"ChatMessageStreamDelta") > 4
    replay_again(tmp_path, recorded)

"""A trace that was cut off is replayed as far as it goes, and the report says so."""

import sys

import pytest

from autochron import provider
from tests.agents.workshop import write

KILLED = """
import os
import signal
import time


def roll(number):
    return number


print(roll(1), flush=True)
if os.environ["KILLED"] == "1":
    time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_a_trace_that_was_cut_off_replays_the_same_as_far_as_it_goes(fresh, tmp_path):
    write(tmp_path, KILLED, "roll")
    recorded = fresh.run(tmp_path, "run", "agent.py", KILLED="1")
    assert recorded.status == -9
    replayed = fresh.run(tmp_path, "replay", "last", KILLED="0")
    assert (replayed.status, replayed.stdout) == (0, b"1\n"), replayed.stderr
    assert "autochron: the same as far as it was recorded: 1 crossing" in replayed.stderr
    assert "(no-footer)" in replayed.stderr


ASKS = """
import json
import os
import signal
import time

import openai


def refund(order):
    with open(os.environ["LEDGER"], "a") as ledger:
        ledger.write(f"{order}\\n")
    if os.environ["KILLED"] == "1":
        time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGKILL)
    return {"refunded": order}


SCHEMA = {"type": "object", "properties": {"order": {"type": "string"}}}
TOOLS = [{"type": "function", "function": {"name": "refund", "parameters": SCHEMA}}]
messages = [{"role": "user", "content": "Refund 48213."}]
choice = {"type": "function", "function": {"name": "refund"}}
response = openai.OpenAI().chat.completions.create(model="m", messages=messages, tools=TOOLS, tool_choice=choice)
for call in response.choices[0].message.tool_calls:
    print(refund(**json.loads(call.function.arguments)))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_a_tool_in_which_the_run_was_killed_is_not_run_by_a_replay(fresh, tmp_path):
    write(tmp_path, ASKS)
    ledger = tmp_path / "ledger"
    script = provider.Script((provider.Step(turn=0, calls=(provider.Call.of("refund", order="48213"),)),))
    with provider.serve(script=script) as model:
        recorded = fresh.run(tmp_path, "run", "agent.py", model=model, KILLED="1", LEDGER=str(ledger))
    assert recorded.status == -9
    ledger.unlink()
    replayed = fresh.run(tmp_path, "replay", "last", KILLED="0", LEDGER=str(ledger))
    assert (replayed.status, replayed.stdout, ledger.exists()) == (2, b"", False), replayed.stderr
    assert "was cut off before its end: the model asked for refund" in replayed.stderr
    (tmp_path / "autochron.toml").write_text(
        'version = 1\n[[boundary]]\nname = "refund"\nkind = "tool"\ntarget = "agent:refund"\n'
    )
    covered = fresh.run(tmp_path, "replay", "last", KILLED="0", LEDGER=str(ledger))
    assert (covered.status, ledger.exists()) == (1, False), (
        covered.stderr
    )  # it has no record, so it is refused

"""The agent with its real tools and the fix; the model answers from cassettes of its HTTP traffic.

`sweep_all.yaml` has the two transfers of the incident, and `sweep_rest.yaml` two that the account covers. Both were
recorded with the fix in place. Requests match by method, host and path, in order: what the tools say may differ from the
recording.
"""

import asyncio
import copy
import inspect
from pathlib import Path

import agent
import guarded
import pytest
import tools
import vcr

CASSETTES = Path(__file__).parent / "cassettes"
HELD = 8_400_000
SWEEP = {"source": "operating", "payee": "savings", "amount_cents": 8_400_000}
INVOICE = {"source": "operating", "payee": "Kessler GmbH", "amount_cents": 3_150_000}
REST = {"source": "operating", "payee": "savings", "amount_cents": 5_250_000}

recorder = vcr.VCR(
    cassette_library_dir=str(CASSETTES), record_mode="none", match_on=["method", "host", "path"]
)


@pytest.fixture(autouse=True)
def bank(monkeypatch):
    """Begin with no booking and with the balances of the incident, and put back afterwards what there was."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "dummy")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:8791")
    accounts, booked = copy.deepcopy(tools.ACCOUNTS), list(tools.booked)
    tools.ACCOUNTS["operating"]["balance_cents"] = HELD
    tools.booked.clear()
    yield
    tools.booked[:] = booked
    for name, account in accounts.items():
        tools.ACCOUNTS[name].update(account)


@pytest.fixture
def asked(monkeypatch):
    """Put the guarded tool into the agent; list what the tool is asked for."""
    calls = []

    async def transfer(**order):
        calls.append(order)
        result = guarded.transfer(**order)
        return await result if inspect.isawaitable(result) else result

    monkeypatch.setitem(agent.TOOLS, "transfer", transfer)
    return calls


async def to_the_end(run):
    """Let finish what the agent has begun, also where a refusal ends the run; give the answer if there is one."""
    try:
        return await run
    except Exception:
        begun = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.gather(*begun, return_exceptions=True)
        return None


def paid():
    return [{name: each[name] for name in SWEEP} for each in tools.booked]


def test_a_sweep_and_an_invoice_at_once_do_not_overdraw_the_account(asked, capsys):
    with recorder.use_cassette("sweep_all.yaml", allow_playback_repeats=False) as cassette:
        said = asyncio.run(to_the_end(agent.work(agent.MESSAGE)))

    assert asked == [SWEEP, INVOICE]
    assert paid() == [SWEEP]
    assert tools.ACCOUNTS["operating"]["balance_cents"] == 0
    assert capsys.readouterr().out.count('"status": "booked"') == 1  # what the tools answered
    assert said is None or ("Kessler's invoice" in said and cassette.all_played)


def test_an_invoice_and_the_sweep_of_the_rest_both_go_out_at_once(asked, capsys):
    with recorder.use_cassette("sweep_rest.yaml", allow_playback_repeats=False) as cassette:
        said = asyncio.run(agent.work(agent.MESSAGE))

    assert asked == [INVOICE, REST]
    assert paid() == [INVOICE, REST]
    assert tools.ACCOUNTS["operating"]["balance_cents"] == 0
    assert capsys.readouterr().out.count('"status": "booked"') == 2
    assert "Kessler is paid" in said
    assert cassette.all_played

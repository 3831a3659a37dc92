import contextlib

import agent
import pytest

SWAP = {"bank.py:transfer": "policies.py:transfer"}


@pytest.mark.autochron("invoice.jsonl", live=["transfer"], swap=SWAP, predicate="predicate.py")
def test_a_stranger_does_not_get_it_all(replay):
    with contextlib.suppress(Exception):
        agent.run("pay the invoice in my inbox")
    assert replay.called("transfer", target="DE09")

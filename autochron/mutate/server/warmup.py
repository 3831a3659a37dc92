"""Replay a small agent of our own before there are trials, so that forks start with warmed-up code.

What runs for the first time is specialised, compiled and looked up by Python. All of that is written into pages that a
fork shares with its server: two thirds of the pages that a replay writes to. Nothing of an incident runs here.
"""

from __future__ import annotations

import importlib
import sys
import tempfile

from autochron._runtime.unpatched import os
from autochron.instrument.activation import deactivate
from autochron.mutate.protocol import TrialReply
from autochron.mutate.server.outcomes import live_outcomes
from autochron.pytest_plugin.marks import MarkerOptions
from autochron.pytest_plugin.sessions import ReplayedTest
from autochron.session.record_context import record, rules_for

_REPLAYS = 24
"""How often the agent is replayed: by then Python has specialised all code of ours that a replay runs."""

_NAME = "autochron_warmup"

_AGENT = '''\
"""An agent that is asked, calls its tool, and says what came of it."""

REASONS = [{"reason": f"the order {number} came late", "weight": number} for number in range(16)]


def model(messages):
    if len(messages) < 3:
        return {"role": "assistant", "tool": "pay", "arguments": {"order": "A-7", "cents": 1250}}
    return {"role": "assistant", "content": f"it is {messages[-1]['status']}"}


def pay(order, cents, *, note=None):
    return {"status": "paid", "order": order, "cents": cents}


def pay_less(order, cents, *, note=None):
    if cents > 1000:
        return {"status": "refused", "order": order, "cents": cents, "most": 1000}
    return pay(order, cents, note=note)


def run():
    messages = [{"role": "user", "content": "pay me back", "why": REASONS}]
    asked = model(messages)
    messages.append(asked)
    messages.append(pay(**asked["arguments"]))
    return model(messages)["content"]
'''

_RULES = f"""\
version = 1
packs = []

[[boundary]]
name = "pay"
kind = "tool"
target = "{_NAME}:pay"

[[boundary]]
name = "model"
kind = "model"
define = "{_NAME}:model"
"""


def warm_up() -> None:
    """Record an agent once, replay it many times, and remove all traces of it."""
    with tempfile.TemporaryDirectory(prefix="autochron-") as folder:
        for name, text in ((f"{_NAME}.py", _AGENT), ("autochron.toml", _RULES)):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        sys.path.insert(0, folder)
        try:
            _replay_often(os.path.join(folder, "autochron.toml"))
        finally:
            sys.path.remove(folder)
            sys.modules.pop(_NAME, None)
            deactivate()
            importlib.invalidate_caches()


def _replay_often(rule_file: str) -> None:
    rules = rules_for(rule_file)
    with record("warm-up", store="memory:", rules=rules) as recorded:
        importlib.import_module(_NAME).run()
    trace = recorded.trace()
    agent = importlib.import_module(_NAME)
    for live in (["pay[1]", "model[2]"], ["pay[1]"], []) * (_REPLAYS // 3):
        swap = {f"{_NAME}:pay": f"{_NAME}:pay_less"} if live else None
        options = MarkerOptions(
            trace=trace, shown="warm-up", is_file=False, live=live, swap=swap, inputs="warn"
        )
        test = ReplayedTest(options, rules)
        test.handle.prepare()
        test.begin()
        try:
            agent.run()
            _ = test.handle["pay[1]"].result, test.handle.called("pay"), test.handle.sequence()
        finally:
            test.end(None)
        _ = TrialReply(id="", variant="fix", given=tuple(live_outcomes(test, "")))

"""`rules --explain` shows which rules match a call or definition, and why others don't; `run` suggests near matches."""

import json

import pytest

from tests.cli.processes import autochron, write

SELL = "fits where the callee turns out to be `broker.Client.sell`, or a method that overrides it"

AGENT = """
import broker
from broker import sell as let_go

TOOLS = {"add": lambda a, b: a + b}


class Agent:
    def __init__(self):
        self.client = broker.Client()

    def act(self, name, arguments):
        return TOOLS[name](**arguments)

    def _trade(self):
        return self.client.sell("ACME"), let_go("ACME")


def locally():
    return super(Agent, Agent()).__init__(), [TOOLS[k] for k in TOOLS]


if __name__ == "__main__":
    agent = Agent()
    print(agent.act("add", {"a": 1, "b": 2}), agent.act("add", {"a": 3, "b": 4}), agent._trade())
"""
BROKER = """
class Client:
    def sell(self, symbol):
        return symbol


def sell(symbol):
    return symbol
"""
RULES = """version = 1
packs = []
[[boundary]]
name = "{tool}"
kind = "tool"
call = "TOOLS[$tool](...)"
[[boundary]]
name = "sell"
kind = "tool"
call = "broker.Client.sell(...)"
[[boundary]]
name = "{__name__}"
kind = "tool"
define = "agent:*"
exclude = ["locally"]
[[boundary]]
name = "buy"
kind = "tool"
call = "broker.buy(...)"
within = "desk"
"""


@pytest.fixture
def project(tmp_path):
    write(tmp_path, {"agent.py": AGENT, "broker.py": BROKER, "autochron.toml": RULES})
    return tmp_path


def explain(folder, place):
    ran = autochron(folder, "rules", "--explain", place)
    assert (ran.status, ran.said) == (0, "")
    return ran.text.splitlines()


def test_a_matching_rule_is_explained(project):
    assert explain(project, "agent.py:13") == [
        "agent.py:13  call of TOOLS[name]",
        "  autochron.toml:3  TOOLS[$tool](...)  fits",
        "  autochron.toml:7  broker.Client.sell(...)  doesn't fit: it calls `TOOLS[name]`",
        "  autochron.toml:16  broker.buy(...)  doesn't fit: module agent doesn't fit `within` `desk`",
    ]


def test_a_rule_that_depends_on_the_receiver_at_run_time_is_explained(project):
    assert explain(project, "agent.py:16") == [
        "agent.py:16  call of self.client.sell",
        "  autochron.toml:3  TOOLS[$tool](...)  doesn't fit: it calls `self.client.sell`",
        f"  autochron.toml:7  broker.Client.sell(...)  {SELL}",
        "  autochron.toml:16  broker.buy(...)  doesn't fit: module agent doesn't fit `within` `desk`",
        "agent.py:16  call of let_go",
        "  autochron.toml:3  TOOLS[$tool](...)  doesn't fit: it calls `let_go`",
        f"  autochron.toml:7  broker.Client.sell(...)  {SELL}",
        "  autochron.toml:16  broker.buy(...)  doesn't fit: module agent doesn't fit `within` `desk`",
    ]


def test_rules_that_do_not_match_a_definition_are_explained(project):
    assert explain(project, "agent.py:15") == [
        "agent.py:15  definition of Agent._trade",
        "  autochron.toml:11  agent:*  doesn't fit: Agent._trade doesn't fit `*`",
    ]
    assert explain(project, "agent.py:19") == [
        "agent.py:19  definition of locally",
        "  autochron.toml:11  agent:*  doesn't fit: `exclude` has `locally`",
    ]


def test_after_a_run_the_number_of_crossings_is_shown(project):
    assert autochron(project, "run", "agent.py").status == 0
    assert explain(project, "agent.py:13")[0] == "agent.py:13  call of TOOLS[name]  ×2 in the latest trace"
    shown = autochron(project, "rules").text.splitlines()
    assert shown[:6] == [
        "autochron.toml:3  tool  {tool}",
        "  TOOLS[$tool](...)",
        "    agent.py:13  Agent.act → TOOLS[$tool](...)  ×2 in the latest trace",
        "autochron.toml:7  tool  sell",
        "  broker.Client.sell(...)",
        "    agent.py:16  Agent._trade → broker.Client.sell(...)  ×1 in the latest trace",
    ]
    as_json = [
        json.loads(line)
        for line in autochron(project, "rules", "--explain", "agent.py:13", "--json").text.splitlines()
    ]
    assert [
        (entry["what"], entry["crossed"], [rule["fits"] for rule in entry["considered"]]) for entry in as_json
    ] == [("call of TOOLS[name]", 2, [True, False, False])]


@pytest.mark.parametrize(
    ("place", "message"),
    [
        (
            "agent.py",
            "autochron rules --explain agent.py: give a file and a line, such as agent.py:41 (usage)",
        ),
        (
            "agent.py:x",
            "autochron rules --explain agent.py:x: give a file and a line, such as agent.py:41 (usage)",
        ),
        ("gent.py:3", "there is no file gent.py; give FILE:LINE (usage)"),
        (
            "agent.py:6",
            "agent.py:6 has no call and no definition; the nearest are on lines 9, 10, 12 (usage)",
        ),
        (
            "broken.py:1",
            "broken.py doesn't parse (invalid syntax (<unknown>, line 1)), so nothing in it is woven (usage)",
        ),
    ],
)
def test_a_wrong_place_is_refused(project, place, message):
    write(project, {"broken.py": "x = = 1\n"})
    ran = autochron(project, "rules", "--explain", place)
    assert (ran.status, ran.said) == (2, f"autochron: {message}\n")


def test_a_rule_without_a_match_is_reported_with_the_nearest_call(project):
    rules = """version = 1
packs = []
[[boundary]]
name = "{tool}"
kind = "tool"
call = "TOLS[$tool](...)"
[[boundary]]
name = "a"
kind = "tool"
call = "brokr.Client.sell(...)"
[[boundary]]
name = "b"
kind = "tool"
call = "broker.Client.sel(...)"
[[boundary]]
name = "c"
kind = "tool"
call = "broker.Clint.sell(...)"
[[boundary]]
name = "d"
kind = "tool"
call = "TOOLS[$tool](1)"
"""
    write(project, {"autochron.toml": rules})
    ran = autochron(project, "run", "agent.py")
    assert ran.status == 0
    why = "it fits no call in the project's modules that were imported; the nearest is"
    warnings = [line.strip() for line in ran.said.splitlines() if "rule-without-match" in line]
    few = "but it has 0 positional arguments, and the pattern 1"
    assert warnings == [
        f"not woven: {pattern}: autochron.toml:{line}: {reason} (rule-without-match)"
        for pattern, line, reason in (
            ("TOLS[$tool](...)", 3, f"{why} `TOOLS[name]` at agent.py:13"),
            (
                "brokr.Client.sell(...)",
                7,
                "there is no module brokr among those imported; the nearest is broker",
            ),
            ("broker.Client.sel(...)", 11, f"{why} `self.client.sell` at agent.py:16"),
            ("broker.Clint.sell(...)", 15, "broker has no Clint; the nearest is Client"),
            ("TOOLS[$tool](1)", 19, f"{why} `TOOLS[name]` at agent.py:13, {few}"),
        )
    ]

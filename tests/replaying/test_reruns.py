"""Verdicts on a program that `replay.run()` replays in a process of its own."""

import pytest

import autochron
from autochron.errors import InconclusiveError
from tests.cli.processes import autochron as command
from tests.cli.processes import write

RULES = """version = 1
packs = []
[[boundary]]
name = "{__name__}"
kind = "tool"
define = "tools:*"
"""
TOOLS = "def pay(cents):\n    return cents\n"
AGENT = "import tools\n\nprint(tools.pay(9))\n"


@pytest.mark.parametrize(
    ("agent", "message"),
    [
        ('raise SystemExit("no key is set")\n', "the program ended with status 1: no key is set"),
        (
            "import nowhere\n",
            "the program ended with status 1: ModuleNotFoundError: No module named 'nowhere'",
        ),
        ("", "the program ended with status 0"),
    ],
)
def test_a_program_in_which_nothing_crosses_says_how_it_ended(agent, message, tmp_path):
    write(tmp_path, {"autochron.toml": RULES, "tools.py": TOOLS, "agent.py": AGENT})
    command(tmp_path, "run", "--quiet", "agent.py")
    command(tmp_path, "traces", "export", "last", "trace.jsonl")
    (tmp_path / "agent.py").write_text(agent)
    trace, rules = str(tmp_path / "trace.jsonl"), str(tmp_path / "autochron.toml")
    with autochron.replay(trace, rules=rules, live="pay", check=False) as replay:
        replay.run()
        with pytest.raises(InconclusiveError) as caught:
            replay.assert_not_reproduced()
    assert f"nothing crossed a boundary; {message}" in str(caught.value)

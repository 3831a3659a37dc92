"""A small program, its rules, and a recording of it."""

from tests.cli.processes import autochron, write

RULES = 'version = 1\npacks = []\n\n[[boundary]]\nname = "act"\nkind = "tool"\ndefine = "agent:act"\n'
AGENT = "def act(n):\n    return n + 1\n\nprint(act(1))\nopen('ran', 'a').write('x')\n"
FILES = {"agent.py": AGENT, "autochron.toml": RULES}


def recorded(folder):
    """Record the program in a folder, and export the trace there."""
    write(folder, FILES)
    for words in (["run", "agent.py"], ["traces", "export", "last", "trace.jsonl"]):
        assert autochron(folder, *words).status == 0
    return folder

"""A replay sets only environment variables that a shipped pack names."""

import json

from msgspec import structs

from autochron.store.tracefile import read_trace, write_trace
from tests.cli.processes import autochron, write
from tests.security.agents import AGENT, recorded

VARIABLES = (
    ("PYTHONINSPECT", "1"),
    ("LD_PRELOAD", "/tmp/x.so"),
    ("OPENAI_BASE_URL", "https://example.com/v1"),
    ("PATH", "/x"),
)


def test_only_variables_that_a_pack_names_are_set(tmp_path):
    made = recorded(tmp_path)
    trace = read_trace(str(made / "trace.jsonl"))
    footer = structs.replace(
        trace.footer, environment=VARIABLES, credentials=("PYTHONSTARTUP", "ANTHROPIC_API_KEY")
    )
    write_trace(structs.replace(trace, footer=footer), str(made / "variables.jsonl"))
    shows = AGENT + "import os, json\njson.dump(dict(os.environ), open('environment.json', 'w'))\n"
    write(made, {"agent.py": shows})
    try:
        done = autochron(made, "replay", "variables.jsonl", "--allow-effects", "--live", "act")
    finally:
        write(made, {"agent.py": AGENT})
    assert done.status in {0, 1}, done.said
    seen = (
        json.loads((made / "environment.json").read_text()) if (made / "environment.json").exists() else None
    )
    if seen is None:  # written on the scratch copy: what a program sees is told by what it prints
        seen = shown(made)
    assert not {"PYTHONINSPECT", "LD_PRELOAD", "PYTHONSTARTUP"} & set(seen)
    assert seen["PATH"] != "/x"
    assert seen["OPENAI_BASE_URL"] == "https://example.com/v1"
    assert "ANTHROPIC_API_KEY" in seen


def shown(folder):
    """Replay once more, and read what the program prints of its environment."""
    prints = AGENT + "import os, json\nprint(json.dumps(dict(os.environ)))\n"
    write(folder, {"agent.py": prints})
    try:
        done = autochron(folder, "replay", "variables.jsonl", "--live", "act")
    finally:
        write(folder, {"agent.py": AGENT})
    return json.loads(done.text.splitlines()[-1])

"""A replay sets only those environment variables that a shipped pack names."""

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


def test_a_replay_sets_only_variables_that_a_pack_names(tmp_path):
    folder = recorded(tmp_path)
    trace = read_trace(str(folder / "trace.jsonl"))
    footer = structs.replace(
        trace.footer, environment=VARIABLES, credentials=("PYTHONSTARTUP", "ANTHROPIC_API_KEY")
    )
    write_trace(structs.replace(trace, footer=footer), str(folder / "variables.jsonl"))
    agent = AGENT + "import os, json\njson.dump(dict(os.environ), open('environment.json', 'w'))\n"
    write(folder, {"agent.py": agent})
    try:
        done = autochron(folder, "replay", "variables.jsonl", "--allow-effects", "--live", "act")
    finally:
        write(folder, {"agent.py": AGENT})
    assert done.status in {0, 1}, done.said
    environment = (
        json.loads((folder / "environment.json").read_text())
        if (folder / "environment.json").exists()
        else None
    )
    if environment is None:  # it was written on the scratch copy, so read what the program prints
        environment = printed_environment(folder)
    assert not {"PYTHONINSPECT", "LD_PRELOAD", "PYTHONSTARTUP"} & set(environment)
    assert environment["PATH"] != "/x"
    assert environment["OPENAI_BASE_URL"] == "https://example.com/v1"
    assert "ANTHROPIC_API_KEY" in environment


def printed_environment(folder):
    """Replay once more, and return the environment that the program prints."""
    prints = AGENT + "import os, json\nprint(json.dumps(dict(os.environ)))\n"
    write(folder, {"agent.py": prints})
    try:
        done = autochron(folder, "replay", "variables.jsonl", "--live", "act")
    finally:
        write(folder, {"agent.py": AGENT})
    return json.loads(done.text.splitlines()[-1])

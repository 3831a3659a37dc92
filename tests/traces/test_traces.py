"""Traces that were recorded with older versions of Python and of an SDK replay on the versions that run the tests."""

import importlib.metadata
import os
import re
import shutil

import pytest

from autochron.envelope.bodies import restore_body
from autochron.store.tracefile import read_trace
from tests.cli.processes import autochron, trust

pytestmark = pytest.mark.slow

HERE = os.path.dirname(os.path.abspath(__file__))
TRACES = sorted(name for name in os.listdir(HERE) if name.endswith(".jsonl"))


@pytest.fixture
def folder(tmp_path):
    for name in ("agent.py", "autochron.toml"):
        shutil.copy(os.path.join(HERE, name), tmp_path)
    return tmp_path


def printed(name):
    """Return the recorded output of the program."""
    return restore_body(read_trace(os.path.join(HERE, name)).footer.stdout)


def test_the_traces_have_the_versions_in_their_names():
    facts = {}
    for name in TRACES:
        trace = read_trace(os.path.join(HERE, name))
        facts[name] = (dict(trace.footer.versions), trace.header.python.rpartition(".")[0], len(trace.envelopes))
    assert facts == {
        "openai_2_python_3.11.jsonl": ({"openai": "2.54.0"}, "3.11", 12),
        "openai_3_python_3.11.jsonl": ({"openai": "3.52.0"}, "3.11", 12),
    }


@pytest.mark.parametrize("name", TRACES)
def test_the_traces_contain_no_path_of_the_recording_machine(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        text = file.read()
    frames = re.findall(r'\["([^"]+)",\d+,"', text)
    assert frames
    assert {frame.partition("/")[0] for frame in frames} <= {"{stdlib}", "{site-packages}", "agent.py"}


@pytest.mark.parametrize("name", TRACES)
@pytest.mark.parametrize(
    ("live", "headline"),
    [
        ((), "autochron: the same: 12 crossings of trace "),
        (("--live", "kind:tool"), "autochron: as planned: 8 crossings of trace "),
    ],
)
def test_a_trace_of_an_older_python_and_an_older_sdk_replays(folder, name, live, headline):
    shutil.copy(os.path.join(HERE, name), folder)
    replayed = autochron(folder, "replay", name, *live, *trust())
    assert (replayed.status, replayed.said.startswith(headline)) == (0, True), replayed.said
    assert replayed.out == printed(name)
    assert "versions" not in replayed.said


def test_a_divergence_caused_by_a_version_names_both_versions(folder):
    shutil.copy(os.path.join(HERE, "openai_2_python_3.11.jsonl"), folder)
    with open(folder / "agent.py", "a", encoding="utf-8") as file:
        file.write("    print(openai.__version__)\n")
    replayed = autochron(folder, "replay", "openai_2_python_3.11.jsonl", *trust())
    assert replayed.status == 1
    installed = importlib.metadata.version("openai")
    assert f"now it is '{installed}', written at agent.py:" in replayed.said
    assert "it was recorded with openai 2.54.0" in replayed.said
    assert f"and here is openai {installed}" in replayed.said
    assert "what differs may come of that (version-mismatch)" in replayed.said

"""Traces that were recorded by older versions of Python and of an SDK replay on those that run the tests."""

import os
import re
import shutil

import openai
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
    """What the program printed when it was recorded."""
    return restore_body(read_trace(os.path.join(HERE, name)).footer.stdout)


def test_they_are_what_their_names_say():
    said = {}
    for name in TRACES:
        trace = read_trace(os.path.join(HERE, name))
        said[name] = (dict(trace.footer.versions), trace.header.python.rpartition(".")[0], len(trace.envelopes))
    assert said == {
        "openai_2_python_3.11.jsonl": ({"openai": "2.54.0"}, "3.11", 12),
        "openai_3_python_3.11.jsonl": ({"openai": "3.52.0"}, "3.11", 12),
    }


@pytest.mark.parametrize("name", TRACES)
def test_they_say_nothing_of_the_machine_that_they_were_recorded_on(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        text = file.read()
    frames = re.findall(r'\["([^"]+)",\d+,"', text)
    assert frames
    assert {frame.partition("/")[0] for frame in frames} <= {"{stdlib}", "{site-packages}", "agent.py"}


@pytest.mark.parametrize("name", TRACES)
@pytest.mark.parametrize(
    ("live", "said"),
    [
        ((), "autochron: the same: 12 crossings of trace "),
        (("--live", "kind:tool"), "autochron: as planned: 8 crossings of trace "),
    ],
)
def test_a_trace_of_an_older_python_and_an_older_sdk_replays(folder, name, live, said):
    shutil.copy(os.path.join(HERE, name), folder)
    replayed = autochron(folder, "replay", name, *live, *trust())
    assert (replayed.status, replayed.said.startswith(said)) == (0, True), replayed.said
    assert replayed.out == printed(name)
    assert "versions" not in replayed.said


def test_what_a_version_decides_is_a_divergence_that_says_so(folder):
    shutil.copy(os.path.join(HERE, "openai_2_python_3.11.jsonl"), folder)
    with open(folder / "agent.py", "a", encoding="utf-8") as file:
        file.write("    print(openai.__version__)\n")
    replayed = autochron(folder, "replay", "openai_2_python_3.11.jsonl", *trust())
    assert replayed.status == 1
    assert f"now it is '{openai.__version__}', written at agent.py:" in replayed.said
    assert "it was recorded with openai 2.54.0" in replayed.said
    assert f"and here is openai {openai.__version__}" in replayed.said
    assert "what differs may come of that (version-mismatch)" in replayed.said

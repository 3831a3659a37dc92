"""`autochron replay --deny`: its messages, its exit status, and how it refuses unknown words."""

import json
import os
import re

import pytest

from tests.cli.processes import autochron, write

AGENT = """
import sys
import urllib.request


def charge(amount):
    try:
        urllib.request.urlopen("http://127.0.0.1:9/charge?card=4711", timeout=5)
    except OSError as error:
        print("failed:", type(error).__name__)
    with open("ledger.txt", "a") as ledger:
        ledger.write(f"{amount}\\n")
    return amount


if __name__ == "__main__":
    try:
        charge(5)
    except PermissionError as error:
        print("refused:", error.errno)
"""

RULES = """version = 1
packs = []

[[boundary]]
name = "charge"
kind = "tool"
target = "agent:charge"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a recorded program."""
    place = tmp_path_factory.mktemp("deny")
    write(place, {"agent.py": AGENT, "autochron.toml": RULES})
    ran = autochron(place, "run", "agent.py", env={"NO_PROXY": "*"})
    assert (ran.status, ran.text) == (0, "failed: URLError\n"), ran.said
    os.remove(place / "ledger.txt")
    return place


def replay(folder, *words):
    return autochron(folder, "replay", "last", *words, env={"NO_PROXY": "*"})


def test_without_deny_a_live_tool_has_its_effects(folder):
    done = replay(folder, "--live", "charge")
    assert (done.status, done.text) == (0, "failed: URLError\n"), done.said
    assert not (folder / "ledger.txt").exists()  # the file is written on the scratch copy


def test_denied_effects_are_named_and_fail_the_replay(folder):
    done = replay(folder, "--live", "charge", "--deny", "network,files")
    assert (done.status, done.text) == (1, "failed: URLError\nrefused: 13\n"), done.said
    assert "autochron: diverged: 0 crossings" in done.said
    (first,) = re.findall(r"  first: (.*) \(denied\)\n", done.said)
    first_in_tree, second = re.findall(
        r"^ +denied: (.*)$", done.said, re.MULTILINE
    )  # in the tree, cut to its width
    assert first.startswith(first_in_tree.removesuffix("…"))
    assert first.startswith(
        "charge[1] reaches for 127.0.0.1:9 at agent.py:8, and the network is denied to what is live;"
    )
    assert second.startswith(
        "charge[1] opens ledger.txt for writing at agent.py:11, and changes of files are"
    )
    assert "4711" not in done.said
    assert not (folder / "ledger.txt").exists()


def test_deny_can_be_repeated_and_is_reported_as_json(folder):
    done = replay(folder, "--live", "kind:tool", "--deny", "files", "--deny=network", "--json")
    report = json.loads(done.said.splitlines()[-1])
    assert report["same"] is False
    assert [
        (divergence["address"], divergence["severity"])
        for divergence in report["divergences"]
        if divergence["kind"] == "denied"
    ] == [("charge[1]", "error"), ("charge[1]", "error")]


def test_without_a_live_tool_nothing_is_denied(folder):
    done = replay(folder, "--deny", "network,subprocess,files")
    assert "1 crossing of trace" in done.said  # the crossing is served, so its output is missing
    assert "(denied)" not in done.said
    assert not (folder / "ledger.txt").exists()


KNOWN = "what can be denied is network, subprocess, files"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--deny", "netwrk"],
            f"{KNOWN}; 'netwrk' is none of them; did you mean network? (bad-plan)",
        ),
        (
            ["--deny", "files,processes"],
            f"{KNOWN}; 'processes' is none of them; did you mean subprocess? (bad-plan)",
        ),
        (
            ["--deny", "files,"],
            f"{KNOWN}; it is empty (bad-plan)",
        ),
        (["--deny", ""], "autochron replay: --deny wants a value, and got an empty one (usage)"),
        (["--deny"], "autochron replay: --deny wants a value after it (usage)"),
    ],
)
def test_an_unknown_word_is_refused_in_one_line(words, message, folder):
    done = replay(folder, *words)
    assert (done.status, done.text, done.said) == (2, "", f"autochron: {message}\n")
    assert not (folder / "ledger.txt").exists()

"""`autochron replay --deny`: what is said, how it ends, and words that mean nothing."""

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
    """Return a folder with a program that was recorded."""
    place = tmp_path_factory.mktemp("deny")
    write(place, {"agent.py": AGENT, "autochron.toml": RULES})
    ran = autochron(place, "run", "agent.py", env={"NO_PROXY": "*"})
    assert (ran.status, ran.text) == (0, "failed: URLError\n"), ran.said
    os.remove(place / "ledger.txt")
    return place


def replay(folder, *words):
    return autochron(folder, "replay", "last", *words, env={"NO_PROXY": "*"})


def test_with_nothing_denied_the_live_tool_does_it(folder):
    done = replay(folder, "--live", "charge")
    assert (done.status, done.text) == (0, "failed: URLError\n"), done.said
    assert not (folder / "ledger.txt").exists()  # it is on the scratch copy


def test_what_is_denied_is_named_and_fails_the_replay(folder):
    done = replay(folder, "--live", "charge", "--deny", "network,files")
    assert (done.status, done.text) == (1, "failed: URLError\nrefused: 13\n"), done.said
    assert "autochron: diverged: 0 crossings" in done.said
    (first,) = re.findall(r"  first: (.*) \(denied\)\n", done.said)
    again, then = re.findall(r"^ +denied: (.*)$", done.said, re.MULTILINE)  # in the tree, as wide as that is
    assert first.startswith(again.removesuffix("…"))
    assert first.startswith(
        "charge[1] reaches for 127.0.0.1:9 at agent.py:8, and the network is denied to what is live;"
    )
    assert then.startswith("charge[1] opens ledger.txt for writing at agent.py:11, and changes of files are")
    assert "4711" not in done.said
    assert not (folder / "ledger.txt").exists()


def test_it_may_be_given_several_times_and_told_as_json(folder):
    done = replay(folder, "--live", "kind:tool", "--deny", "files", "--deny=network", "--json")
    told = json.loads(done.said.splitlines()[-1])
    assert told["same"] is False
    assert [
        (each["address"], each["severity"]) for each in told["divergences"] if each["kind"] == "denied"
    ] == [("charge[1]", "error"), ("charge[1]", "error")]


def test_with_nothing_live_there_is_nothing_to_deny(folder):
    done = replay(folder, "--deny", "network,subprocess,files")
    assert "1 crossing of trace" in done.said  # and is served: what it printed isn't there
    assert "(denied)" not in done.said
    assert not (folder / "ledger.txt").exists()


KNOWN = "what can be denied is network, subprocess, files"


@pytest.mark.parametrize(
    ("words", "said"),
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
def test_a_word_that_means_nothing_is_refused_in_one_line(words, said, folder):
    done = replay(folder, *words)
    assert (done.status, done.text, done.said) == (2, "", f"autochron: {said}\n")
    assert not (folder / "ledger.txt").exists()

"""`autochron view`, `autochron replay --html` and `pytest --autochron-html`."""

import os
import re
import signal
import stat
import sys
import time
import urllib.request

import pytest

from autochron.store.tracefile import write_trace
from tests.cli.processes import autochron, finish, python, start, write
from tests.viewing.traces import changed, small

AGENT = """
import sys
import autochron

@autochron.boundary("price", kind="tool")
def price(item):
    return {"item": item, "cents": len(sys.argv) * 100}

print(price("mug")["cents"])
"""


@pytest.fixture
def folder(tmp_path):
    write_trace(small(), str(tmp_path / "small.jsonl"))
    write_trace(changed(), str(tmp_path / "changed.jsonl"))
    return tmp_path


def test_a_file_is_written_of_one_trace_and_of_two(folder):
    done = autochron(folder, "view", "small.jsonl", "--out", "pages/one.html")
    assert (done.status, done.text, done.said) == (0, "pages/one.html: agent.py --fast\n", "")
    assert "look_up" in (folder / "pages" / "one.html").read_text()
    done = autochron(folder, "view", "small.jsonl", "changed.jsonl", "--out", "two.html")
    assert (done.status, done.said) == (0, "")
    assert '"verdict":"3 differences"' in (folder / "two.html").read_text()


def test_a_page_is_served_until_ctrl_c(folder):
    process = start(
        [sys.executable, "-m", "autochron", "view", "small.jsonl", "--no-browser"], folder, fresh=True
    )
    address = process.stdout.readline().decode().strip()
    with urllib.request.urlopen(address, timeout=10) as answer:
        assert b"look_up" in answer.read()
    process.send_signal(signal.SIGINT)
    done = finish(process)
    assert (done.status, done.said) == (0, "autochron: the page is at the address above until ctrl-C\n\n")


def test_without_a_browser_the_address_is_all_there_is(folder):
    process = start(
        [sys.executable, "-m", "autochron", "view", "small.jsonl"],
        folder,
        fresh=True,
        env={"PATH": str(folder), "BROWSER": "false"},
    )
    assert process.stdout.readline().startswith(b"http://127.0.0.1:")
    assert b"until ctrl-C" in process.stderr.readline()
    assert b"no browser could be opened" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    assert finish(process).status == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "wants a trace, or two to compare"),
        (("a", "b", "c"), "wants a trace, or two to compare"),
        (("nowhere.jsonl",), "there is no trace file nowhere.jsonl"),
        (("damaged.jsonl",), "damaged.jsonl"),
        (("empty.jsonl",), "empty.jsonl"),
        (("small.jsonl", "--port", "http"), "--port wants a number up to 65535, not 'http'"),
        (("small.jsonl", "--port", "70000"), "--port wants a number up to 65535, not '70000'"),
        (("small.jsonl", "--out", "small.jsonl/page.html"), "can't be written"),
        (("small.jsonl", "small.jsonl", "--inputs", "some", "--out", "x.html"), "--inputs is some; known are `strict`"),
        (("small.jsonl", "--outt", "x"), "--outt"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_in_one_line(folder, words, said):
    whole = (folder / "small.jsonl").read_bytes()
    write(folder, {"damaged.jsonl": whole[: len(whole) // 2], "empty.jsonl": b""})
    done = autochron(folder, "view", *words)
    assert (done.status, done.text, done.said.count("\n"), said in done.said) == (2, "", 1, True), done.said


def test_a_replay_writes_a_page_with_the_first_difference(tmp_path):
    write(tmp_path, {"agent.py": AGENT, "autochron.toml": "version = 1\npacks = []\n"})
    assert autochron(tmp_path, "run", "--quiet", "agent.py").status == 0
    done = autochron(
        tmp_path, "replay", "last", "--live", "price", "--html", "out/page.html", "--", "agent.py", "more"
    )
    assert f"autochron: the page is {tmp_path}/out/page.html\n" in done.said
    text = (tmp_path / "out" / "page.html").read_text()
    assert '"kind":"replay"' in text
    assert re.search(r'"pairs":\[\[0,0,\[\{"address":"price\[1\]",[^]]*"kind":"outcome"', text)


def test_a_page_that_cannot_be_written_is_told_after_the_report(tmp_path):
    write(tmp_path, {"agent.py": AGENT, "autochron.toml": "version = 1\npacks = []\n", "file": ""})
    assert autochron(tmp_path, "run", "--quiet", "agent.py").status == 0
    done = autochron(tmp_path, "replay", "last", "--html", "file/page.html")
    assert (done.status, done.said.splitlines()[-1].startswith("autochron: ")) == (0, True)
    assert "can't be written" in done.said


TESTS = """
import subprocess, sys
import pytest

@pytest.mark.autochron("trace.jsonl", live="price[1]")
def test_price(replay):
    replay.run("agent.py", "more")
    assert replay["price[1]"].result["cents"] == 100

@pytest.mark.autochron("trace.jsonl")
def test_served(replay):
    replay.run()
"""


def test_pytest_writes_a_page_of_each_test_that_fails(tmp_path):
    write(
        tmp_path, {"agent.py": AGENT, "autochron.toml": "version = 1\npacks = []\n", "test_agent.py": TESTS}
    )
    assert autochron(tmp_path, "run", "--quiet", "agent.py").status == 0
    assert autochron(tmp_path, "traces", "export", "last", "trace.jsonl").status == 0
    done = python(
        tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--autochron-html", "pages", "test_agent.py"
    )
    assert "1 failed, 1 passed" in done.text, done.text
    [page] = (tmp_path / "pages").iterdir()
    assert re.fullmatch(r"test_agent\.py-test_price-[0-9a-f]{8}\.html", page.name)
    assert f"{tmp_path}/pages/{page.name}" in done.text
    text = page.read_text()
    assert '"title":"test_agent.py::test_price"' in text
    assert '"verdict":"assert 200 == 100"' in text


def test_a_page_can_go_to_standard_output_and_never_replaces_a_device(folder):
    done = autochron(folder, "view", "small.jsonl", "--out", "-")
    assert (done.status, done.out[:15], b"look_up" in done.out) == (0, b"<!doctype html>", True)
    os.mkfifo(folder / "pipe")
    done = autochron(folder, "view", "small.jsonl", "--out", "pipe")
    assert (done.status, "is no regular file" in done.said) == (2, True)
    assert stat.S_ISFIFO(os.stat(folder / "pipe").st_mode)


def test_the_address_is_not_among_the_words_of_the_browser(folder):
    write(
        folder,
        {
            "browser": '#!/bin/sh\necho "$1" > words\ncp "${1#file://}" page\nstat -c %a "${1#file://}" > mode\n'
        },
    )
    (folder / "browser").chmod(0o755)
    process = start(
        [sys.executable, "-m", "autochron", "view", "small.jsonl"],
        folder,
        fresh=True,
        env={"BROWSER": f"{folder}/browser %s"},
    )
    address = process.stdout.readline().decode().strip()
    assert b"until ctrl-C" in process.stderr.readline()
    for _ in range(100):
        if (folder / "mode").exists() and (folder / "mode").read_text():
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert finish(process).status == 0
    words = (folder / "words").read_text()
    assert (address in words, address in (folder / "page").read_text()) == (False, True)
    assert (folder / "mode").read_text() == "600\n"
    assert not os.path.exists(words.strip().removeprefix("file://"))

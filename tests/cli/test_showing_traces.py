"""`autochron traces show` draws a trace as a tree, on a terminal and elsewhere."""

import fcntl
import os
import pty
import re
import struct
import sys
import termios
import time
from pathlib import Path

import msgspec
import pytest

from autochron import provider
from autochron.model import Footer
from autochron.store import open_store
from tests.cli.processes import ROOT, autochron, finish, start, write
from tests.store import samples

AGENT = """
import asyncio, sys, threading
import autochron

@autochron.boundary("fetch", kind="tool")
async def fetch(page):
    await asyncio.sleep(0.05)
    if page == 3:
        raise ValueError("no page 3\\x1b[31m\\nat all")
    return {"page": page, "body": "word " * 200}

@autochron.boundary("crawl", kind="tool")
async def crawl(pages):
    return len(await asyncio.gather(*(fetch(page) for page in range(pages)), return_exceptions=True))

@autochron.boundary("count", kind="tool")
def count(upto, label="counted"):
    yield from range(upto)

@autochron.boundary("opaque", kind="tool")
def opaque():
    return threading.Lock()

list(count(2))
print(asyncio.run(crawl(int(sys.argv[1]))))
opaque()
"""


@pytest.fixture
def home(tmp_path):
    write(tmp_path, {"agent.py": AGENT, "autochron.toml": "version = 1\npacks = []\n"})
    return tmp_path


def recorded(home, pages):
    assert autochron(home, "run", "--quiet", "agent.py", str(pages)).status == 0
    return home


def untimed(text):
    return re.sub(r"  [\d.,]+ (s|ms|µs|us)(?=$|  )", "  TIME", text, flags=re.MULTILINE).splitlines()


def test_a_trace_is_drawn_as_a_tree_of_lanes_and_nested_crossings(home):
    shown = autochron(recorded(home, 4), "traces", "show", "last")
    head, facts, *tree = untimed(shown.text)
    assert (shown.status, shown.said) == (0, "")
    assert head.endswith("  agent.py 4")
    assert facts.endswith(", 7 crossings, exit status 0")
    assert [re.sub(r", body: .*…", "", line) for line in tree] == [
        '├─ count[1] tool  label: "counted", upto: 2 → 2 items: 0  TIME',
        "├─ crawl[1] tool  pages: 4 → 4  TIME",
        "│  ├─ ∥ fetch.1  fetch[1] tool  page: 0 → {page: 0  TIME",
        "│  ├─ ∥ fetch.2  fetch[2] tool  page: 1 → {page: 1  TIME",
        "│  ├─ ∥ fetch.3  fetch[3] tool  page: 2 → {page: 2  TIME",
        "│  └─ ∥ fetch.4  fetch[4] tool  page: 3  TIME  raised ValueError: no page 3\\x1b[31m at all",
        "└─ opaque[1] tool  → <lock>  TIME  1 opaque",
    ]
    assert max(map(len, tree)) <= 100


def test_similar_crossings_in_a_row_are_summarised_unless_all_are_requested(home):
    text = autochron(recorded(home, 30), "traces", "show", "last").text
    assert "│  ├─ … 23 more: lane fetch ×23\n" in text
    assert "raised ValueError" in text  # it differs from the others
    complete = autochron(home, "traces", "show", "last", "--all").text
    assert "more" not in complete
    assert len(complete.splitlines()) == 2 + 33


def test_full_shows_inputs_and_outcomes(home):
    full = autochron(recorded(home, 2), "traces", "show", "last", "--full").text
    inputs = '    in   {"label":"counted","upto":2}\n'
    assert f"{inputs}    out  2 items, then returned\n         - 0\n         - 1\n" in full


@pytest.mark.parametrize("options", [["--full"], ["--full", "-v"]], ids=" ".join)
def test_full_cuts_nothing_and_indents_what_is_long(home, options):
    lines = autochron(recorded(home, 1), "traces", "show", "last", *options).text.splitlines()
    begin = next(at for at, line in enumerate(lines) if "fetch[1]" in line)
    assert lines[begin + 2 : begin + 6] == [
        "      out  {",
        '        "page": 0,',
        f'        "body": "{"word " * 200}"',
        "      }",
    ]
    assert "characters)" not in "\n".join(lines)


def on_a_terminal(home, *words, columns=80, **more):
    """Run autochron with a terminal as standard output; return what the terminal shows."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = start(
        [sys.executable, "-m", "autochron", *words],
        home,
        env={"TERM": "xterm-256color", **more},
        stdout=follower,
    )
    os.close(follower)
    shown = b""
    while True:
        try:
            chunk = os.read(leader, 65536)
        except OSError:  # the writing end is closed
            break
        if not chunk:
            break
        shown += chunk
    os.close(leader)
    assert finish(process).status in (0, 1)
    return shown.decode().replace("\r\n", "\n")


def test_on_a_terminal_the_tree_has_guides_and_colours_and_fits_the_width(home):
    recorded(home, 4)
    shown = on_a_terminal(home, "traces", "show", "last", columns=60)
    assert "\x1b[31m  raised ValueError" in shown  # red
    plain = re.sub(r"\x1b\[[\d;]*m", "", shown)
    assert "\x1b" not in plain  # text of the program contains no control sequence
    assert "│  └─ ∥ fetch.4  fetch[4] tool" in plain
    assert max(len(line) for line in plain.splitlines()[2:]) == 60


def test_differences_are_coloured_by_severity(home):
    for pages in (2, 4):
        recorded(home, pages)
    ids = re.findall(r"^01\w+", autochron(home, "traces").text, re.MULTILINE)
    shown = on_a_terminal(home, "traces", "diff", *ids)
    assert "\x1b[31minput pages: 2 → 4\x1b[0m" in shown
    assert "they differ: " in shown
    assert "\x1b[32mthe same: " in on_a_terminal(home, "traces", "diff", ids[0], ids[0])
    assert "\x1b" not in autochron(home, "traces", "diff", *ids).text


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=str)
def test_on_a_terminal_without_colour_the_tree_fits_the_width(home, variables):
    shown = on_a_terminal(recorded(home, 4), "traces", "show", "last", columns=60, **variables)
    assert "\x1b" not in shown
    assert max(len(line) for line in shown.splitlines()[2:]) == 60


def test_the_guides_are_ascii_if_the_encoding_is(home):
    text = autochron(recorded(home, 4), "traces", "show", "last", env={"PYTHONIOENCODING": "ascii"}).text
    assert text.isascii()
    assert "\n|  `- = fetch.4  fetch[4] tool  page: 3  " in text
    full = autochron(home, "traces", "show", "last", "--full", env={"PYTHONIOENCODING": "ascii"})
    assert (full.status, full.said) == (0, "")


def test_a_child_process_is_drawn_as_a_lane(tmp_path):
    child = "import autochron\n@autochron.boundary('step', kind='tool')\ndef step(n):\n    return n\nstep(1)\nstep(2)\n"
    parent = child + "import subprocess, sys\nsubprocess.run([sys.executable, 'child.py'], check=True)\n"
    write(tmp_path, {"agent.py": parent, "child.py": child, "autochron.toml": "version = 1\npacks = []\n"})
    assert autochron(tmp_path, "run", "--quiet", "agent.py").status == 0
    _, _, *tree = untimed(autochron(tmp_path, "traces", "show", "last").text)
    assert tree == [
        "├─ step[1] tool  n: 1 → 1  TIME",
        "├─ step[2] tool  n: 2 → 2  TIME",
        "└─ process child.py.1  2 crossings",
        "   ├─ step[3] tool  n: 1 → 1  TIME",
        "   └─ step[4] tool  n: 2 → 2  TIME",
    ]


def test_a_model_call_is_drawn_with_its_model_and_its_requested_tools(tmp_path):
    source = os.path.join(ROOT, "incidents", "refund")
    for name in ("agent.py", "tools.py", "autochron.toml"):
        with open(os.path.join(source, name), "rb") as file:
            write(tmp_path, {name: file.read()})
    with provider.serve(script=Path(source) / "provider.json", seed=3) as model:
        env = {"OPENAI_BASE_URL": model.url, "NO_PROXY": "127.0.0.1"}
        assert (
            autochron(tmp_path, "run", "--quiet", "agent.py", "Please refund order 48213.", env=env).status
            == 0
        )
    _, _, *tree = untimed(autochron(tmp_path, "traces", "show", "last").text)
    assert [line for line in tree if "model" in line][:3] == [
        "├─ model[1] model  gpt-4.1-mini → look_up_order  TIME",
        "├─ model[2] model  gpt-4.1-mini → issue_refund  TIME",
        "├─ model[3] model  gpt-4.1-mini → send_reply  TIME",
    ]
    assert re.match(r'└─ model\[4\] model  gpt-4.1-mini → "\w.*(…|")  TIME', tree[-1])


def write_large_trace(path, count):
    store = open_store(str(path))
    sink = store.begin(samples.header(1, "big"))
    for seq in range(1, count + 1):
        kind = "model" if seq % 2 else "tool"
        envelope = samples.small(seq)
        sink.put(msgspec.structs.replace(envelope, name=kind, kind=kind, nth=(seq + 1) // 2))
        if seq % 1000 == 0:
            sink.commit()
    sink.end(Footer(status=0))
    sink.close()


@pytest.mark.slow
def test_a_trace_of_a_hundred_thousand_crossings_is_shown_quickly_and_shortened(tmp_path):
    write_large_trace(tmp_path / "big.db", 100_000)
    began = time.monotonic()
    shown = autochron(tmp_path, "traces", "show", "last", "--store", "big.db")
    assert time.monotonic() - began < 20
    lines = shown.text.splitlines()
    assert lines[1].endswith(" 100000 crossings, exit status 0")
    assert len(lines) == 2 + 13
    assert lines[8] == "├─ … 99,988 more: model ×49,994, tool ×49,994"
    assert lines[-1].startswith('└─ tool[50000] tool  n: 100000 → "result 100000"')


def test_a_trace_without_crossings_has_no_tree(tmp_path):
    write(tmp_path, {"agent.py": "print(1)\n"})
    assert autochron(tmp_path, "run", "--quiet", "agent.py").status == 0
    assert len(autochron(tmp_path, "traces", "show", "last").text.splitlines()) == 2

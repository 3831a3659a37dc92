"""The memory that large values take: they are copied at most twice, and none is lost."""

import json
import os
import subprocess
import sys

import pytest

MEGABYTES = 40

RULES = """version = 1
packs = []
[[boundary]]
name = "{__name__}"
kind = "tool"
define = "tools:*"
"""

TOOLS = """
def take(value):
    return len(value)

def give(size):
    return "three word text " * (size // 16)
"""

PROGRAM = """
import sys
import tools

kind, size = sys.argv[1], int(sys.argv[2]) * 1_000_000
value = {
    "text": lambda: "three word text " * (size // 16),
    "run": lambda: "x" * size,
    "bytes": lambda: bytes(range(256)) * (size // 256),
    "list": lambda: ["three word text " * 600 for _ in range(size // 9600)],
    "nested": lambda: {"messages": [{"content": "three word text " * 600} for _ in range(size // 9600)]},
    "given": lambda: None,
}[kind]()
for _ in range(4):
    print(len(tools.give(size)) if kind == "given" else tools.take(value))
"""

EXCHANGES = """
import json, sys
import httpx, openai

kind, calls, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) * 1_000_000
text = "three word text " * (size // 16)


def events():
    for start in range(0, len(text), 100_000):
        delta = {"role": "assistant", "content": text[start : start + 100_000]}
        choice = {"index": 0, "finish_reason": None, "delta": delta}
        event = {"id": "r", "object": "chat.completion.chunk", "created": 0, "model": "m", "choices": [choice]}
        yield b"data: " + json.dumps(event).encode() + b"\\n\\n"
    yield b"data: [DONE]\\n\\n"


def respond(request):
    if kind == "stream":
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=events())
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    body = {"id": "r", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}
    return httpx.Response(200, json=body)


client = openai.OpenAI(api_key="k", http_client=httpx.Client(transport=httpx.MockTransport(respond)))
kept = []
for _ in range(calls):
    asked = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    if kind == "stream":
        kept.append(client.chat.completions.create(**asked, stream=True))
        print(sum(len(event.choices[0].delta.content) for event in kept[-1]))
    else:
        print(len(client.chat.completions.create(**asked).choices[0].message.content))
"""


# With a fixed threshold, what is freed is given back: else the peak depends on how the C library guesses that threshold.
STEADY = {"MALLOC_MMAP_THRESHOLD_": "131072"}


def output_and_peak_memory(folder, *words, **more):
    """Run a program to its end; return its output, and its peak memory in megabytes. `more` is added to the environment."""
    variables = os.environ | more
    with subprocess.Popen(
        [sys.executable, *words], cwd=folder, stdout=subprocess.PIPE, text=True, env=variables
    ) as process:
        stdout = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return stdout, used.ru_maxrss / 1024


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "stored"),
    [
        ("text", 1),
        ("nested", 1),
        *(
            pytest.param(*each, marks=pytest.mark.thorough)
            for each in (("run", 1), ("list", 1), ("given", 1))
        ),
        pytest.param("bytes", 4 / 3, marks=pytest.mark.thorough),
    ],
)
def test_four_calls_with_a_large_value_take_the_memory_of_two_copies(kind, stored, tmp_path):
    (tmp_path / "autochron.toml").write_text(RULES)
    (tmp_path / "tools.py").write_text(TOOLS)
    (tmp_path / "agent.py").write_text(PROGRAM)
    words = ["agent.py", kind, str(MEGABYTES)]
    plain, plain_memory = output_and_peak_memory(tmp_path, *words)
    recorded, recorded_memory = output_and_peak_memory(tmp_path, "-m", "autochron", "run", "--quiet", *words)
    assert recorded == plain
    assert recorded_memory - plain_memory <= 64 + 2 * stored * MEGABYTES
    done = subprocess.run(
        [sys.executable, "-m", "autochron", "traces", "list", "--json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert json.loads(done.stdout)["crossings"] == 4


RACE = """
import runpy
from autochron._runtime import unpatched
from autochron.store import ring

put = ring.Ring.put


def put_slowly(self, piece, flags):
    if put(self, piece, flags):
        return True
    while self.tail != self.head:
        unpatched.sleep(0.001)
    return False


ring.Ring.put = put_slowly
runpy.run_module("autochron", run_name="__main__", alter_sys=True)
"""


def test_a_large_value_is_written_if_the_store_process_empties_the_ring_while_a_piece_is_refused(tmp_path):
    (tmp_path / "autochron.toml").write_text(RULES)
    (tmp_path / "tools.py").write_text(TOOLS)
    (tmp_path / "agent.py").write_text(PROGRAM)
    (tmp_path / "race.py").write_text(RACE)
    done = subprocess.run(
        [sys.executable, "race.py", "run", "agent.py", "nested", "8"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert done.stderr.startswith("autochron: 4 crossings recorded in trace ")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("kind", "calls", "megabytes"),
    [
        ("stream", 20, 4),
        *(
            pytest.param(*each, marks=pytest.mark.thorough)
            for each in (("json", 4, 40), ("stream", 4, 40), ("stream", 80, 4))
        ),
    ],
)
def test_bodies_of_exchanges_take_the_memory_of_two_copies_and_do_not_live_as_long_as_the_response(
    kind, calls, megabytes, tmp_path
):
    (tmp_path / "agent.py").write_text(EXCHANGES)
    words = ["agent.py", kind, str(calls), str(megabytes)]
    plain, plain_memory = output_and_peak_memory(tmp_path, *words)
    recorded, recorded_memory = output_and_peak_memory(tmp_path, "-m", "autochron", "run", "--quiet", *words)
    assert recorded == plain
    assert recorded_memory - plain_memory <= 64 + 2 * megabytes
    replayed = subprocess.run([sys.executable, "-m", "autochron", "replay", "last"], cwd=tmp_path)
    assert replayed.returncode == 0


CONVERSATION = """
import sys
import tools

messages = [{"role": "system", "content": "three word text " * 20_000}]
for turn in range(int(sys.argv[1])):
    messages.append({"role": "user", "content": f"question {turn}"})
    messages.append({"role": "assistant", "content": str(tools.take(list(messages)))})
print(len(messages))
"""


@pytest.mark.thorough
@pytest.mark.parametrize("options", [(), ("--live", "take[300]")], ids=["served", "live"])
def test_a_replay_does_not_keep_the_input_of_each_turn_of_a_conversation(options, tmp_path):
    (tmp_path / "autochron.toml").write_text(RULES)
    (tmp_path / "tools.py").write_text(TOOLS)
    (tmp_path / "agent.py").write_text(CONVERSATION)
    peaks = []
    for turns in ("400", "800"):
        words = ["-m", "autochron", "run", "--quiet", "agent.py", turns]
        recorded, recorded_memory = output_and_peak_memory(tmp_path, *words, **STEADY)
        words = ["-m", "autochron", "replay", "last", *options]
        replayed, peak = output_and_peak_memory(tmp_path, *words, **STEADY)
        assert replayed == recorded
        assert peak - recorded_memory <= 96
        peaks.append(peak)
    assert peaks[1] - peaks[0] <= 32  # the inputs of 400 turns take 128 MB

"""A console script that starts worker processes: a real uvicorn, which behaves as without autochron."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request

import pytest

from autochron import provider
from autochron.store import open_store
from tests.agents.workshop import Fresh, environment, write

pytestmark = pytest.mark.slow

APP = """
import sys


def look_up(n):
    return n * 2


async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        while (await receive())["type"] != "lifespan.shutdown":
            await send({"type": "lifespan.startup.complete"})
        await send({"type": "lifespan.shutdown.complete"})
        return
    body = repr((look_up(int(scope["path"][1:])), sys.argv[1:], sys.path[0])).encode()
    headers = [(b"content-length", b"%d" % len(body)), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})
"""

RULES = '[[boundary]]\nname = "{__name__}"\nkind = "tool"\ntarget = "app:look_up"\n'


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def get(port, path):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}", timeout=10) as response:
        return response.read()


def serve(folder, command, number, port):
    """Start a service, request it four times and send it a signal. Return its answers, status, output and errors."""
    process = subprocess.Popen(
        command, cwd=folder, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        deadline = time.monotonic() + 30
        while True:
            try:
                answers = [get(port, 0)]
                break
            except OSError:
                assert process.poll() is None, process.communicate()
                assert time.monotonic() < deadline
                time.sleep(0.05)
        answers += [get(port, n) for n in (1, 2, 3)]
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
    finally:
        process.kill()
    return answers, process.returncode, out, err.decode()


@pytest.mark.parametrize(
    ("number", "workers"),
    [
        (signal.SIGINT, 2),
        (signal.SIGTERM, 1),
        pytest.param(signal.SIGINT, 1, marks=pytest.mark.thorough),
        pytest.param(signal.SIGTERM, 2, marks=pytest.mark.thorough),
    ],
)
def test_uvicorn_serves_and_stops_as_without_autochron(number, workers, tmp_path):
    write(tmp_path, APP, rules=RULES, name="app")
    port = free_port()
    words = ["app:app", "--port", str(port), "--workers", str(workers), "--log-level", "warning"]
    script = os.path.join(os.path.dirname(sys.executable), "uvicorn")
    unrecorded = serve(tmp_path, [script, *words], number, port)
    recorded = serve(
        tmp_path, [sys.executable, "-m", "autochron", "run", "--", "uvicorn", *words], number, port
    )
    assert recorded[:3] == unrecorded[:3], recorded[3]
    trace = open_store(str(tmp_path / ".autochron" / "traces.db")).load("last")
    assert sorted(envelope.input.decode() for envelope in trace.envelopes) == [
        f'{{"n":{n}}}' for n in range(4)
    ]
    processes = {envelope.lane.partition(".")[0] for envelope in trace.envelopes}
    assert processes == ({"0/child:subprocess_started"} if workers == 2 else {"0/RequestResponseCycle"})
    assert "not woven" not in recorded[3]


ASKS = """
import subprocess, sys

print(subprocess.run([sys.executable, "worker.py"], capture_output=True, text=True))
"""

WORKER = """
from openai import OpenAI

answer = OpenAI().chat.completions.create(model="m", messages=[{"role": "user", "content": "Where is my order?"}])
print(answer.choices[0].message.content, answer.usage.total_tokens)
"""


def test_a_model_call_of_a_child_is_served_without_a_model(tmp_path):
    write(tmp_path, ASKS)
    (tmp_path / "worker.py").write_text(WORKER, encoding="utf-8")
    with provider.serve() as model:
        recorded = Fresh().run(tmp_path, "run", "agent.py", model=model)
        calls = model.calls
    assert (recorded.status, calls) == (0, 1), recorded.stderr
    assert "not woven" not in recorded.stderr
    (envelope,) = open_store(str(tmp_path / ".autochron" / "traces.db")).envelopes("last")
    assert (envelope.lane, envelope.kind) == ("0/child:worker.py.1", "model")
    replayed = Fresh().run(tmp_path, "replay", "last")
    assert (replayed.status, replayed.stdout) == (0, recorded.stdout), replayed.stderr
    assert "none live" in replayed.stderr

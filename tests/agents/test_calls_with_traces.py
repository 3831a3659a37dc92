"""`[[trace]]`: each call of a service has its own trace, in every worker, and can be replayed alone."""

import json
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import autochron
from autochron.store import open_store
from tests.cli.processes import autochron as run_autochron
from tests.cli.processes import environment, finish, start, write
from tests.late import httpx

APP = """
import asyncio
import os
import random

from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route


async def look_up(name):
    await asyncio.sleep(0.02)
    return {"name": name, "stock": random.random()}


def price(name):
    if name == "bad":
        raise KeyError(name)
    return random.random()


async def handle(request):
    name = request.path_params["name"]
    found = await asyncio.gather(look_up(name), look_up(f"{name}'s other"))
    return JSONResponse({"found": found, "price": price(name), "process": os.getpid()})


def plainly(request):
    return JSONResponse({"price": price(request.path_params["name"])})


app = Starlette(routes=[Route("/plain/{name}", plainly), Route("/{name}", handle)])
"""
RULES = """version = 1
packs = []
[[boundary]]
name = "{__name__}"
kind = "tool"
define = "app:*"
exclude = ["handle", "plainly"]
[[trace]]
target = "app:handle"
[[trace]]
target = "app:plainly"
"""


@pytest.fixture
def project(tmp_path):
    write(tmp_path, {"app.py": APP, "autochron.toml": RULES})
    return tmp_path


class Service:
    """A uvicorn server under `autochron run`."""

    def __init__(self, folder, *options, workers=1):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        uvicorn = [
            "-m",
            "uvicorn",
            "app:app",
            "--port",
            self.port,
            "--workers",
            workers,
            "--log-level",
            "warning",
        ]
        self.process = start([sys.executable, "-m", "autochron", "run", *options, *uvicorn], folder)
        self._wait()

    def _wait(self):
        for _ in range(600):
            try:
                with socket.create_connection(("127.0.0.1", self.port), timeout=1):
                    return
            except OSError:
                time.sleep(0.05)
        self.process.kill()
        raise AssertionError(finish(self.process))

    def get(self, name):
        return httpx.get(f"http://127.0.0.1:{self.port}/{name}", trust_env=False, timeout=30)

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        return finish(self.process)


def traces_of(folder, name="app:handle"):
    store = open_store(str(folder / ".autochron" / "traces.db"))
    return [store.load(summary.header.id) for summary in store.summaries() if summary.header.name == name]


def crossings_of(trace):
    return sorted((envelope.address, envelope.lane) for envelope in trace.envelopes)


@pytest.mark.sdks
@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_each_request_is_a_trace_of_its_own(project, workers):
    service = Service(project, workers=workers)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda number: service.get(f"item{number}").json(), range(24)))
    ended = service.stop()
    assert ended.status == exit_status_of_uvicorn(project, workers)
    assert "and 24 traces of calls that have one each: autochron traces list" in ended.said
    traces = traces_of(project)
    assert len(traces) == 24
    assert len({answer["process"] for answer in answers}) <= workers
    own = {}
    for trace in traces:
        assert crossings_of(trace) == [
            ("look_up[1]", "0/look_up.1"),
            ("look_up[2]", "0/look_up.2"),
            ("price[1]", "0"),
        ]
        assert trace.footer is not None
        values = {envelope.address: json.loads(envelope.outcome.value) for envelope in trace.envelopes}
        own[values["look_up[1]"]["name"]] = values
    for number, answer in enumerate(answers):
        values = own[f"item{number}"]
        assert answer["found"] == [values["look_up[1]"], values["look_up[2]"]]
        assert answer["price"] == values["price[1]"]


def exit_status_of_uvicorn(folder, workers):
    """Return the exit status of an interrupted uvicorn without autochron."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "uvicorn", "app:app", "--port", str(port), "--workers", str(workers)]
    process = subprocess.Popen(command, cwd=folder, env=environment(), stderr=subprocess.PIPE, text=True)
    for line in process.stderr:
        if "Application startup complete" in line:
            break
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    return process.returncode


@pytest.mark.sdks
@pytest.mark.slow
@pytest.mark.parametrize("workers", [pytest.param(1, marks=pytest.mark.thorough), 2])
def test_only_failed_calls_are_kept_with_keep_failed(project, workers):
    service = Service(project, "--keep", "failed", workers=workers)
    assert [service.get(name).status_code for name in ("good", "bad", "plain/good", "plain/bad")] == [
        200,
        500,
        200,
        500,
    ]
    service.stop()
    (failed,) = traces_of(project)
    (plainly,) = traces_of(project, "app:plainly")
    assert (failed.footer.error, plainly.footer.error) == ("KeyError", "KeyError")
    assert [envelope.address for envelope in plainly.envelopes] == ["price[1]"]


@pytest.mark.sdks
@pytest.mark.slow
def test_a_killed_service_keeps_the_crossings_of_its_calls(project):
    write(project, {"app.py": APP.replace("sleep(0.02)", "sleep(60 if name == 'slow' else 0)")})
    service = Service(project)
    assert service.get("quick").status_code == 200
    with pytest.raises(httpx.ReadTimeout):
        httpx.get(f"http://127.0.0.1:{service.port}/slow", trust_env=False, timeout=1)
    service.process.kill()
    finish(service.process)
    quick, slow = traces_of(project)
    assert [envelope.address for envelope in quick.envelopes] == ["look_up[1]", "look_up[2]", "price[1]"]
    assert quick.footer is not None
    assert [envelope.address for envelope in slow.envelopes] == ["look_up[2]"]
    assert slow.footer is None


REPLAY = """
import sys

import autochron
from starlette.testclient import TestClient

import app

with autochron.replay(sys.argv[1], store="traces.db", check=False) as replay:
    print(TestClient(app.app).get(sys.argv[2]).text)
print([each.message for each in replay.divergences])
"""


def test_one_call_is_replayed_by_itself(project):
    record = """
import autochron
from starlette.testclient import TestClient

with autochron.record("all", store="traces.db"):
    import app

    client = TestClient(app.app)
    for name in ("one", "two", "plain/three"):
        print(client.get(name).text)
"""
    write(project, {"record.py": record, "again.py": REPLAY})
    command = [sys.executable, "record.py"]
    recorded = finish(start(command, project)).text.splitlines()
    store = open_store(str(project / "traces.db"))
    assert [(summary.header.name, summary.crossings) for summary in store.summaries()] == [
        ("all", 0),
        ("app:handle", 3),
        ("app:handle", 3),
        ("app:plainly", 1),
    ]
    ids = [summary.header.id for summary in store.summaries()][1:]
    for ident, name, recorded_answer in zip(ids, ("one", "two", "plain/three"), recorded, strict=True):
        replayed = finish(start([sys.executable, "again.py", ident, name], project))
        answer, divergences = replayed.text.splitlines()
        expected, actual = json.loads(recorded_answer), json.loads(answer)
        expected.pop("process", None), actual.pop("process", None)
        assert (actual, divergences) == (expected, "[]"), replayed.said
    changed = finish(start([sys.executable, "again.py", ids[0], "two"], project))
    assert "look_up[1]" in changed.text.splitlines()[-1]


def test_a_run_without_calls_records_no_crossing(project):
    with autochron.record(store="memory:", rules=str(project / "autochron.toml")) as recording:
        pass
    assert recording.trace().envelopes == ()


def test_a_trace_table_without_a_match_is_reported(project):
    write(project, {"autochron.toml": RULES + '[[trace]]\ntarget = "app:hndle"\n'})
    write(project, {"main.py": "import app\n"})
    for _ in range(2):  # first found by matching, then read from the code cache
        completed = run_autochron(project, "run", "main.py")
        assert (
            "not woven: app:hndle: autochron.toml:12: its module defines no function of that name; the nearest is handle "
            "(no-such-target)"
        ) in completed.said

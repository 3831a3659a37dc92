"""The provider's process is ready on entering the block and ends with it and with its parent; its seed and command."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from autochron import provider
from autochron.provider import Provider, ProviderError
from tests.late import httpx, openai

pytestmark = pytest.mark.sdks

COMMAND = [sys.executable, "-m", "autochron.provider"]
ROOT = Path(provider.__file__).parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
TOOLS = [
    {"type": "function", "function": {"name": "f", "parameters": {"properties": {"a": {"type": "integer"}}}}}
]


def answers_of(p: Provider) -> list[Any]:
    body = {"model": "m", "messages": [{"role": "user", "content": "hello"}], "tools": TOOLS}
    return [httpx.post(f"{p.url}/chat/completions", json=body).json() for _ in range(5)]


def is_gone(pid: int, within: float = 5.0) -> bool:
    end = time.monotonic() + within
    while time.monotonic() < end:
        try:
            os.kill(pid, 0)
            if Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").split(")")[-1].split()[0] == "Z":
                return True
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.02)
    return False


def test_the_same_seed_gives_the_same_answers() -> None:
    with provider.serve(seed=3) as p:
        first = answers_of(p)
        p.reset()
        after_reset = answers_of(p)
    with provider.serve(seed=3) as p:
        restarted = answers_of(p)
    with provider.serve(seed=4) as p:
        other_seed = answers_of(p)
    assert first == after_reset == restarted
    assert first != other_seed


def test_without_a_seed_each_start_differs() -> None:
    with provider.serve() as p, provider.serve() as q:
        assert p.stats.seed != q.stats.seed
        assert answers_of(p) != answers_of(q)


def test_the_provider_counts_calls_by_endpoint_and_ends_with_the_block() -> None:
    with provider.serve() as p:
        answers_of(p)
        httpx.post(f"{p.url}/embeddings", json={"input": "a"})
        assert p.calls == 6
        assert dict(p.stats.by_endpoint) == {"/v1/chat/completions": 5, "/v1/embeddings": 1}
        p.reset()
        assert p.calls == 0
    assert is_gone(p.pid, 0.1)
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{p.origin}/stats")


def test_the_provider_stops_while_a_client_waits() -> None:
    with provider.serve() as p:
        client = openai.OpenAI(base_url=p.url, api_key="none")
        ask: Any = [{"role": "user", "content": "hello"}]
        stream = client.chat.completions.create(
            model="m", messages=ask, stream=True, extra_headers={"x-loopback": "stall"}
        )
        next(iter(stream))
        begun = time.monotonic()
    assert time.monotonic() - begun < 5


PARENT = """
import os, sys, time
from autochron import provider
with provider.serve() as p:
    fork = "fork" in sys.argv
    if fork and os.fork() == 0:
        time.sleep(60)
    print(p.pid, flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("also", ["", "fork"])
def test_the_provider_ends_with_its_parent(also: str) -> None:
    command = [sys.executable, "-c", PARENT, also]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT, start_new_session=True
    ) as parent:
        try:
            assert parent.stdout is not None
            pid = int(parent.stdout.readline())
            assert not is_gone(pid, 0.1)
            parent.kill()
            assert is_gone(pid)
        finally:
            os.killpg(parent.pid, signal.SIGKILL)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_command_prints_its_url_and_stops_cleanly(number: signal.Signals, tmp_path: Path) -> None:
    script = tmp_path / "f.toml"
    script.write_text('[[steps]]\ntext = "scripted"\n', encoding="utf-8")
    process = subprocess.Popen(
        [*COMMAND, "--seed", "7", "--script", str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    )
    assert process.stdout is not None
    url = process.stdout.readline().strip()
    body = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}
    answer = httpx.post(f"{url}/chat/completions", json=body).json()
    process.send_signal(number)
    out, err = process.communicate(timeout=10)
    assert answer["choices"][0]["message"]["content"] == "scripted"
    assert (process.returncode, out, err) == (0, "", "")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [(["--script", "missing.json"], "missing.json"), (["--rate-limit", "2"], "rate_limit must be")],
)
def test_the_command_refuses_wrong_options_in_one_line(arguments: list[str], text: str) -> None:
    done = subprocess.run(
        [*COMMAND, *arguments], capture_output=True, text=True, env=ENVIRONMENT, check=False
    )
    assert done.returncode == 2
    assert text in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_missing_packages_are_reported_with_the_remedy() -> None:
    hide = "import sys, runpy; sys.modules['starlette'] = None; sys.argv = ['provider']; "
    code = hide + "runpy.run_module('autochron.provider', run_name='__main__', alter_sys=True)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=ENVIRONMENT, check=False
    )
    assert done.returncode == 2
    assert (
        done.stderr
        == "the provider needs starlette and uvicorn: pip install 'autochron[provider]' (missing-extra)\n"
    )


def test_a_port_in_use_is_reported() -> None:
    with provider.serve() as p:
        port = int(p.origin.rpartition(":")[2])
        with pytest.raises(ProviderError, match="in use"), provider.serve(port=port):
            pass


def test_the_provider_imports_nothing_else_of_autochron() -> None:
    code = """if True:
        import sys, autochron
        before = set(sys.modules)
        import autochron.provider
        new = (name for name in set(sys.modules) - before if name.startswith("autochron."))
        print(*(name for name in new if not name.startswith("autochron.provider")))
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=ENVIRONMENT)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "", "")

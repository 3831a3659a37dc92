"""The pack of mcp, on the real package: over standard streams, over HTTP and in memory."""

import shutil
import socket
import subprocess
import sys
import time
from contextlib import contextmanager, suppress

import pytest

from tests.agents.cases import Case
from tests.agents.workshop import Fresh, assert_same, record
from tests.packs.harness import PROGRAMS, Surrounded, needs, set_up, trace_of
from tests.packs.runs import addresses

pytestmark = needs("mcp")

ASKED = ["started", "Oslo", "Rome"]


def with_server(folder, name, *findings):
    shutil.copy(PROGRAMS / "mcp_server.py", folder)
    return set_up(folder, Case(name, findings=findings))


def server_notes(folder):
    """Return the server's notes: its start, then the requested cities. Cities are sorted, as requests run at once."""
    lines = (folder / "asked.txt").read_text("utf-8").splitlines()
    return sorted(lines, key=lambda line: (line != "started", line))


def test_a_server_in_a_process_of_its_own(tmp_path):
    case, runner = with_server(tmp_path, "mcp_stdio"), Fresh()
    recorded = record(runner, case, tmp_path)
    assert "child process" not in recorded.stderr
    assert server_notes(tmp_path) == ASKED
    trace = trace_of(tmp_path)
    assert addresses(trace) == [
        *("stdio_client[1]", "initialize[1]", "notifications/initialized[1]", "list_tools[1]"),
        *("weather[1]", "weather[2]", "lost[1]", "resources/read[1]"),
    ]
    assert {envelope.kind for envelope in trace.envelopes} == {"tool"}
    for _ in range(2):
        replayed = runner.run(tmp_path, "replay", "last")
        assert_same(recorded, replayed, 0)
        assert "again for real" not in replayed.stderr
    assert server_notes(tmp_path) == ASKED


def test_a_server_over_http(tmp_path):
    case, runner = with_server(tmp_path, "mcp_http", "mcp_http.py:12 os.environ"), Fresh()
    with serving(tmp_path) as url:
        recorded = record(Surrounded({"MCP_URL": url}), case, tmp_path)
    assert server_notes(tmp_path) == ASKED
    trace = trace_of(tmp_path)
    assert addresses(trace) == [
        *("streamable_http_client[1]", "initialize[1]", "notifications/initialized[1]", "list_tools[1]"),
        *("weather[1]", "weather[2]"),
    ]
    for _ in range(2):
        assert_same(recorded, runner.run(tmp_path, "replay", "last", MCP_URL=url), 0)
    assert server_notes(tmp_path) == ASKED


@pytest.mark.thorough
def test_a_server_in_memory(tmp_path):
    case, runner = with_server(tmp_path, "mcp_memory"), Fresh()
    recorded = record(runner, case, tmp_path)
    assert server_notes(tmp_path) == ASKED[1:]
    assert [address for address in addresses(trace_of(tmp_path)) if "/" not in address] == [
        *("discover[1]", "list_tools[1]", "weather[1]", "weather[2]", "lost[1]"),
    ]
    for _ in range(2):
        assert_same(recorded, runner.run(tmp_path, "replay", "last"), 0)
    assert server_notes(tmp_path) == ASKED[1:]


@contextmanager
def serving(folder):
    """Run the server over HTTP during the block, and yield its URL."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "mcp_server.py", str(port)],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(200):
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.1):
                break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.wait()

"""Connections that are refused and that nothing depended on: a note, and no divergence."""

import http.server
import threading

import pytest

from tests.cli.processes import autochron

RULES = """version = 1
packs = []

[[boundary]]
name = "{__name__}"
kind = "tool"
define = "tools:*"
"""
AGENT = """
import os, threading, urllib.request
import tools


def send():
    try:
        return urllib.request.urlopen(os.environ["COLLECTOR"], timeout=5).read().decode()
    except OSError:
        return ""


said = []
if os.environ.get("WHAT") != "silent":
    thread = threading.Thread(target=lambda: said.append(send()))
    thread.start()
    thread.join()
tools.look_up("mug")
if os.environ.get("WHAT") == "depends":
    tools.look_up("".join(said))
if os.environ.get("WHAT") == "prints":
    print(said)
"""


@pytest.fixture
def collector():
    """Serve a collector of telemetry."""

    class Collector(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"thanks")

        def log_message(self, *_):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Collector)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


@pytest.fixture
def folder(tmp_path):
    """Lay the program out."""
    (tmp_path / "autochron.toml").write_text(RULES)
    (tmp_path / "tools.py").write_text("def look_up(item):\n    return item\n")
    (tmp_path / "agent.py").write_text(AGENT)
    return tmp_path


def test_a_refusal_that_nothing_depended_on_is_a_note(folder, collector):
    assert autochron(folder, "run", "agent.py", env={"COLLECTOR": collector}).status == 0
    for _ in range(5):
        again = autochron(folder, "replay", "last", env={"COLLECTOR": collector})
        assert again.status == 0, again.said
        assert "reaches for 127.0.0.1:" in again.said
        assert "nothing that is compared depended on it" in again.said


@pytest.mark.parametrize("what", ["depends", "prints"])
def test_one_that_something_depended_on_is_a_divergence(folder, collector, what):
    env = {"COLLECTOR": collector, "WHAT": what}
    assert autochron(folder, "run", "agent.py", env=env).status == 0
    again = autochron(folder, "replay", "last", env=env)
    assert again.status == 1, again.said
    assert "reaches for 127.0.0.1:" in again.said


def test_one_that_was_not_recorded_is_a_divergence(folder, collector):
    assert autochron(folder, "run", "agent.py", env={"COLLECTOR": collector, "WHAT": "silent"}).status == 0
    again = autochron(folder, "replay", "last", env={"COLLECTOR": collector})
    assert again.status == 1, again.said


def test_a_rule_lets_a_host_be(folder, collector):
    (folder / "autochron.toml").write_text(
        f'{RULES}[[effect]]\nhost = "127.0.0.1"\nreason = "our collector"\n'
    )
    env = {"COLLECTOR": collector, "WHAT": "prints"}
    assert autochron(folder, "run", "agent.py", env=env).text == "['thanks']\n"
    again = autochron(folder, "replay", "last", env=env)
    assert (again.status, again.text) == (0, "['thanks']\n"), again.said


def test_a_look_up_is_named(folder):
    (folder / "agent.py").write_text(
        "import socket\ntry:\n    socket.getaddrinfo('nowhere.invalid', 80)\nexcept OSError:\n    pass\n"
    )
    ran = autochron(folder, "run", "agent.py")
    assert "network outside every crossing: nowhere.invalid:80 at agent.py:3" in ran.said


def test_a_sender_of_telemetry_is_a_note_wherever_it_sends(folder, collector):
    (folder / "posthog.py").write_text(AGENT.partition("said =")[0].replace("import tools", ""))
    (folder / "agent.py").write_text(
        "import os, posthog, tools\ntools.look_up('mug')\nif os.environ.get('WHAT'):\n    posthog.send()\n"
    )
    assert autochron(folder, "run", "agent.py", env={"COLLECTOR": collector}).status == 0
    again = autochron(folder, "replay", "last", env={"COLLECTOR": collector, "WHAT": "late"})
    assert again.status == 0, again.said
    assert "a library that sends telemetry reaches for 127.0.0.1:" in again.said

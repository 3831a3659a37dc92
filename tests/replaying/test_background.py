"""A refused connection that nothing compared depends on is a note, not a divergence."""

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
    """Yield the URL of a server that collects telemetry."""

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
    """Return a folder with the program and its rules."""
    (tmp_path / "autochron.toml").write_text(RULES)
    (tmp_path / "tools.py").write_text("def look_up(item):\n    return item\n")
    (tmp_path / "agent.py").write_text(AGENT)
    return tmp_path


def test_a_refusal_that_nothing_depended_on_is_a_note(folder, collector):
    assert autochron(folder, "run", "agent.py", env={"COLLECTOR": collector}).status == 0
    for _ in range(5):
        replayed = autochron(folder, "replay", "last", env={"COLLECTOR": collector})
        assert replayed.status == 0, replayed.said
        assert "reaches for 127.0.0.1:" in replayed.said
        assert "nothing that is compared depended on it" in replayed.said


@pytest.mark.parametrize("behaviour", ["depends", "prints"])
def test_a_refusal_that_an_input_or_the_output_depended_on_is_a_divergence(folder, collector, behaviour):
    env = {"COLLECTOR": collector, "WHAT": behaviour}
    assert autochron(folder, "run", "agent.py", env=env).status == 0
    replayed = autochron(folder, "replay", "last", env=env)
    assert replayed.status == 1, replayed.said
    assert "reaches for 127.0.0.1:" in replayed.said


def test_a_refused_connection_that_was_not_recorded_is_a_divergence(folder, collector):
    assert autochron(folder, "run", "agent.py", env={"COLLECTOR": collector, "WHAT": "silent"}).status == 0
    replayed = autochron(folder, "replay", "last", env={"COLLECTOR": collector})
    assert replayed.status == 1, replayed.said


def test_an_effect_rule_allows_a_host(folder, collector):
    (folder / "autochron.toml").write_text(
        f'{RULES}[[effect]]\nhost = "127.0.0.1"\nreason = "our collector"\n'
    )
    env = {"COLLECTOR": collector, "WHAT": "prints"}
    assert autochron(folder, "run", "agent.py", env=env).text == "['thanks']\n"
    replayed = autochron(folder, "replay", "last", env=env)
    assert (replayed.status, replayed.text) == (0, "['thanks']\n"), replayed.said


def test_a_host_name_look_up_is_reported_with_its_line(folder):
    (folder / "agent.py").write_text(
        "import socket\ntry:\n    socket.getaddrinfo('nowhere.invalid', 80)\nexcept OSError:\n    pass\n"
    )
    recorded = autochron(folder, "run", "agent.py")
    assert "network outside every crossing: nowhere.invalid:80 at agent.py:3" in recorded.said


def test_a_connection_of_a_telemetry_library_is_a_note_even_if_it_was_not_recorded(folder, collector):
    (folder / "posthog.py").write_text(AGENT.partition("said =")[0].replace("import tools", ""))
    (folder / "agent.py").write_text(
        "import os, posthog, tools\ntools.look_up('mug')\nif os.environ.get('WHAT'):\n    posthog.send()\n"
    )
    assert autochron(folder, "run", "agent.py", env={"COLLECTOR": collector}).status == 0
    replayed = autochron(folder, "replay", "last", env={"COLLECTOR": collector, "WHAT": "late"})
    assert replayed.status == 0, replayed.said
    assert "a library that sends telemetry reaches for 127.0.0.1:" in replayed.said

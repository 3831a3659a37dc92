"""The report at the end of a run: how many crossings are in the store, and where the store is."""

import io
import os
import socket
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

from autochron.model import Footer, RunSummary
from autochron.report.run import write_run
from autochron.rules.packs import load_pack
from tests.cli.processes import autochron, write

RULES = """
version = 1
packs = []
[[boundary]]
name = "{__name__}"
kind = "tool"
define = "agent:step"
"""


def report_of(counts=(), **options):
    stream = io.StringIO()
    footer = Footer(lost=options.pop("lost", 0))
    write_run(RunSummary(trace="T", store="traces.db", footer=footer, counts=counts, **options), stream)
    return stream.getvalue()


def test_the_headline_counts_what_is_in_the_store():
    text = report_of(counts=(("step", 12),), crossings=100, lost=88)
    assert text.startswith("autochron: 12 of 100 crossings recorded in trace T (traces.db)\n  step ×12\n")
    assert "lost: 88 crossings could not be written" in text
    assert report_of(counts=(("step", 2),), crossings=2).startswith("autochron: 2 crossings recorded")


def test_masked_headers_of_requests_are_left_out_of_the_report():
    text = report_of(
        masked=(
            "ask: a.request.headers.b",
            "ask: request.headers.b",
            "ask: cause._request.headers.b",
            "ask: content.key",
        )
    )
    assert "headers" not in text
    assert "ask: content.key (masked)" in text


def test_the_path_of_the_store_is_relative_to_the_folder_where_the_run_began(tmp_path):
    source = 'import os\ndef step(): return 1\nstep()\nos.mkdir("deep")\nos.chdir("deep")\n'
    write(tmp_path, {"agent.py": source, "autochron.toml": RULES})
    ran = autochron(tmp_path, "run", "agent.py")
    assert f"({os.path.join('.autochron', 'traces.db')})" in ran.said


def test_output_before_an_exec_is_in_the_trace(tmp_path):
    source = """
import os, sys
def step(): return 3
if sys.argv[1:]:
    print("second")
else:
    print(step(), flush=True)
    os.execv(sys.executable, [sys.executable, "agent.py", "2"])
"""
    write(tmp_path, {"agent.py": source, "autochron.toml": RULES})
    assert autochron(tmp_path, "run", "agent.py").text.split() == ["3", "second"]
    replayed = autochron(tmp_path, "replay", "last")
    assert "autochron: the same" in replayed.said, replayed.said
    assert replayed.status == 0


def test_a_library_of_an_untested_major_version_is_reported(tmp_path):
    source = "import openai\nprint(openai.__version__)\n"
    files = {"agent.py": source, "autochron.toml": RULES.replace("packs = []", 'packs = ["auto"]')}
    tested = load_pack("openai").tested
    for version, is_named in (("99.1.0", True), (f"{tested[-1].partition('.')[0]}.999.0", False)):
        write(tmp_path, {**files, "openai/__init__.py": f'__version__ = "{version}"\n'})
        ran = autochron(tmp_path, "run", "agent.py")
        assert ran.text == f"{version}\n"
        reason = f"the pack was tested with {', '.join(tested)}; look whether all crossings are there"
        line = f"  openai {version}: {reason} (untested-version)"
        assert (line in ran.said.splitlines()) is is_named, ran.said


FAILING = """
import sys
from openai import OpenAI
client = OpenAI(base_url=f"http://127.0.0.1:{sys.argv[1]}/v1", api_key="sk-unused-0123456789", max_retries=0)
def step(): return client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}])
try:
    step()
except Exception:
    if sys.argv[2:]:
        raise SystemExit(0) from None
    raise
"""


def test_the_report_names_the_model_call_that_failed_and_its_server(tmp_path):
    with socket.socket() as taken:  # bound, and nobody listens
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        write(tmp_path, {"agent.py": FAILING, "autochron.toml": RULES.replace("packs = []\n", "")})
        failed = autochron(tmp_path, "run", "agent.py", port)
        caught = autochron(tmp_path, "run", "agent.py", port, "caught")
    line = f"model[1] ended with APIConnectionError: Connection error; nothing answered at http://127.0.0.1:{port}"
    assert (failed.status, failed.said.splitlines().count(f"  {line}")) == (1, 1)
    assert "(masked)" not in failed.said
    assert (caught.status, "ended with" in caught.said) == (0, False)


def test_the_report_names_the_status_with_which_a_server_refused(tmp_path):
    class Refusing(BaseHTTPRequestHandler):
        def do_POST(self):
            self.send_response(401)
            self.end_headers()
            self.wfile.write(b'{"error": {"message": "no such key"}}')

        def log_message(self, *arguments):
            pass

    with HTTPServer(("127.0.0.1", 0), Refusing) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        write(tmp_path, {"agent.py": FAILING, "autochron.toml": RULES.replace("packs = []\n", "")})
        failed = autochron(tmp_path, "run", "agent.py", server.server_port)
        server.shutdown()
    (line,) = [line for line in failed.said.splitlines() if " ended with " in line]
    assert line.startswith("  model[1] ended with AuthenticationError: ")
    assert line.endswith(f"; http://127.0.0.1:{server.server_port} answered with status 401")


def test_the_report_names_a_tool_that_raised(tmp_path):
    source = "def step(): return {}['mug']\nstep()\n"
    write(tmp_path, {"agent.py": source, "autochron.toml": RULES})
    failed = autochron(tmp_path, "run", "agent.py")
    assert "  step[1] ended with KeyError: mug" in failed.said.splitlines()

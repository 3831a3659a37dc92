"""Which code is a library's, which pack is for it, and which code is the user's own."""

import json
import os
import sys

import pytest

from autochron import provider
from autochron.provider.script import Call, Script, Step
from autochron.store import open_store
from tests.cli.processes import ROOT, autochron, write

GENAI = """\
class BaseApiClient:
    def request(self, http_method, path, request_dict):
        return {"text": request_dict["text"]}
"""

AGENT = """\
{imports}

client = BaseApiClient()
print(client.request("post", "models/gemini:generateContent", {{"text": "hello"}}))
"""

FIRST = {
    "alone": "from google.genai._api_client import BaseApiClient",
    "after another library of its namespace": "import google.auth\nfrom google.genai._api_client import BaseApiClient",
    "after one whose name begins alike": "import google.genai_extras\nfrom google.genai._api_client import BaseApiClient",
}


def test_a_pack_is_taken_up_by_its_own_module_and_not_by_its_namespace(tmp_path):
    libraries = {
        "google/auth/__init__.py": "",
        "google/genai_extras/__init__.py": "",
        "google/genai/__init__.py": "",
        "google/genai/_api_client.py": GENAI,
    }
    write(tmp_path, libraries)
    crossed = {}
    for way, imports in FIRST.items():
        write(tmp_path, {"agent.py": AGENT.format(imports=imports)})
        done = autochron(tmp_path, "run", "agent.py")
        crossed[way] = (done.status, "  model ×1\n" in done.said)
    assert crossed == dict.fromkeys(FIRST, (0, True))


CLI = """\
import sys
import time

from shopbot.tools import refund


def main():
    print(refund(3), time.time() > 0, sys.argv[1:])
"""

INSTALLED = {
    "env/site-packages/shopbot/__init__.py": "",
    "env/site-packages/shopbot/__main__.py": "from shopbot.cli import main\n\nmain()\n",
    "env/site-packages/shopbot/cli.py": CLI,
    "env/site-packages/shopbot/tools.py": (
        'def refund(cents):\n    open("ran", "a").close()\n    return cents * 2\n'
    ),
    "bin/shopbot": "#!{python}\nimport sys\nfrom shopbot.cli import main\nif __name__ == '__main__':\n    sys.exit(main())\n",
}
"""A program that is installed, with its console script."""

TOOLS = """\
version = 1
packs = []
{project}
[[boundary]]
name = "{{__name__}}"
kind = "tool"
define = "shopbot.tools:*"
"""

RECORDED = (["refund[1]"], ["shopbot/cli.py:8"])
"""The crossings of the installed program, and the lines of its findings."""


@pytest.fixture
def home(tmp_path):
    write(tmp_path, {**INSTALLED, "autochron.toml": TOOLS.format(project="")})
    script = tmp_path / "bin/shopbot"
    script.write_text(script.read_text().format(python=sys.executable))
    script.chmod(0o755)
    return tmp_path


def variables(folder):
    path = os.pathsep.join([ROOT, str(folder / "env/site-packages")])
    return {"PYTHONPATH": path, "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"}


def run(folder, *command):
    """Record a program, and return its crossings and the lines of its findings."""
    done = autochron(folder, "run", "--report", "found.json", *command, env=variables(folder))
    assert done.status == 0, done.said
    findings = json.loads((folder / "found.json").read_bytes())["findings"]
    lines = [f"{finding['site']['file']}:{finding['site']['line']}" for finding in findings]
    store = open_store(str(folder / ".autochron" / "traces.db"))
    return [envelope.address for envelope in store.envelopes("last")], lines


WAYS = {
    "module": ("-m", "shopbot"),
    "module inside": ("-m", "shopbot.__main__"),
    "console script": ("--", "shopbot"),
}


@pytest.mark.parametrize("way", WAYS)
def test_an_installed_program_that_is_run_is_the_users_own_code(way, home):
    assert run(home, *WAYS[way]) == RECORDED
    os.unlink(home / "ran")
    done = autochron(home, "replay", "last", env=variables(home))
    assert (done.status, (home / "ran").exists()) == (0, False), done.said


def test_what_is_not_run_stays_a_library(home):
    write(home, {"agent.py": "from shopbot.cli import main\n\nmain()\n"})
    assert run(home, "agent.py") == ([], ["agent.py:3"])


def test_the_projects_paths_in_the_rules_decide(home):
    write(home, {"autochron.toml": TOOLS.format(project='project = ["bin"]')})
    assert run(home, "-m", "shopbot") == ([], [])
    write(home, {"autochron.toml": TOOLS.format(project='project = ["env/site-packages/shopbot"]')})
    assert run(home, "-m", "shopbot") == RECORDED
    write(home, {"agent.py": "from shopbot.cli import main\n\nmain()\n"})
    assert run(home, "agent.py") == RECORDED


LAUNCHING = {
    "a known launcher": ("gunicorn", ("-m", "gunicorn")),
    "a command that is given code": ("serve", ("-m", "serve", "app:app")),
}


@pytest.mark.parametrize("way", LAUNCHING)
def test_a_launcher_of_the_users_code_is_a_library(way, home):
    name, command = LAUNCHING[way]
    launcher = "import time\nimport app\n\nprint(time.time() > 0, app.app())\n"
    write(
        home,
        {
            f"env/site-packages/{name}/__init__.py": "",
            f"env/site-packages/{name}/__main__.py": launcher,
            "app.py": "import time\n\ndef app():\n    return time.time() > 0\n",
        },
    )
    assert run(home, *command) == ([], ["app.py:4"])


def test_processes_of_an_installed_program_have_its_project(home):
    again = "import subprocess, sys\n\ndef main():\n    subprocess.run([sys.executable, '-m', 'shopbot.child'], check=True)\n"
    write(
        home,
        {
            "env/site-packages/shopbot/cli.py": again,
            "env/site-packages/shopbot/child.py": "from shopbot.tools import refund\n\nprint(refund(2))\n",
        },
    )
    assert run(home, "-m", "shopbot")[0] == ["refund[1]"]


GRAPH = {
    "env/site-packages/langgraph/__init__.py": "",
    "env/site-packages/langgraph/pregel/__init__.py": "",
    "env/site-packages/langgraph/pregel/_retry.py": "def run_with_retry(task):\n    return task.run()\n",
    "env/site-packages/langchain_core/__init__.py": "",
    "env/site-packages/langchain_core/tools/__init__.py": "",
    "env/site-packages/langchain_core/tools/structured.py": """\
class StructuredTool:
    def __init__(self, function):
        self.name, self.function = function.__name__, function

    def _run(self, *args, **kwargs):
        return self.function(*args, **kwargs)
""",
}
"""What the packs of langgraph and langchain weave, without the libraries."""

NODES = """\
from langgraph.pregel._retry import run_with_retry
{imports}

class Task:
    name, path, triggers = "plan", ("a",), ("b",)

    def run(self):
        print({body})

run_with_retry(Task())
"""


@pytest.fixture
def graph(tmp_path):
    def make(imports="", body="1"):
        write(tmp_path, {**GRAPH, "agent.py": NODES.format(imports=imports, body=body)})
        done = autochron(tmp_path, "run", "agent.py", env=variables(tmp_path))
        assert done.status == 0, done.said
        return tmp_path

    return make


def test_nodes_of_a_graph_are_no_tools(graph):
    folder = graph()
    done = autochron(folder, "replay", "last", "--live", "kind:tool", env=variables(folder))
    message = (
        "autochron: live kind:tool: the trace has no crossing of kind tool but node.plan, which a pack only observes and "
        "every replay runs; it has nothing (bad-plan)\n"
    )
    assert (done.status, done.said) == (2, message)
    done = autochron(folder, "incident", "new", "last", "incident", env=variables(folder))
    assert (done.status, "say with --live what is to run for real" in done.said) == (2, True)


TOOLED = {
    "imports": "from langchain_core.tools.structured import StructuredTool\nfrom tools import refund",
    "body": "StructuredTool(refund)._run(cents=5)",
}


def test_an_incident_points_at_the_projects_tool_and_not_into_the_library_that_calls_it(graph, tmp_path):
    write(tmp_path, {"tools.py": "def log(text):\n    pass\n\n\ndef refund(cents):\n    return cents * 2\n"})
    folder = graph(**TOOLED)
    done = autochron(folder, "incident", "new", "last", "incident", "--no-try", env=variables(folder))
    assert done.status == 0, done.said
    readme = (folder / "incident/README.md").read_text()
    assert "`refund`, `tools.py:5`" in readme
    assert "--swap tools.py:refund=fix.py:refund" in readme
    assert "langchain_core" not in readme.partition("What is live:")[2]
    assert "node.plan[1]" not in readme.partition("What is live:")[2].partition("```")[0]


def test_the_swap_that_an_incident_proposes_for_a_librarys_tool_works(graph, tmp_path):
    write(tmp_path, {"tools.py": "def refund(cents):\n    return cents * 2\n"})
    write(tmp_path, {"fix.py": "def refund(cents):\n    return cents\n"})
    folder = graph(**TOOLED)
    options = ("--live", "kind:tool", "--swap", "tools.py:refund=fix.py:refund")
    assert autochron(folder, "replay", "last", *options, env=variables(folder)).text == "5\n"


def test_suggestions_and_init_know_the_installed_program_that_ran(home):
    write(home, {"env/site-packages/shopbot/cli.py": ASKING, "autochron.toml": "version = 1\nfind = false\n"})
    turns = Script((Step(turn=0, calls=(Call.of("refund", cents=5),)), Step(text="Done.")))
    with provider.serve(script=turns) as model:
        asking = variables(home) | {"OPENAI_BASE_URL": model.url, "NO_PROXY": "*"}
        done = autochron(home, "run", "--", "shopbot", env=asking)
    assert (done.status, "asked for refund" in done.said) == (0, True), done.said
    target = 'target = "shopbot.tools:refund"'
    assert target in autochron(home, "rules", "--suggest", env=variables(home)).text
    os.unlink(home / "autochron.toml")
    shown = autochron(home, "init", env=variables(home)).text
    assert "  refund  shopbot/tools.py:1\n" in shown
    assert "  autochron run -- shopbot\n" in shown
    assert target in (home / "autochron.toml").read_text()


ASKING = """\
from openai import OpenAI

from shopbot.tools import refund


def main():
    function = {"name": "refund", "parameters": {"type": "object", "properties": {"cents": {"type": "integer"}}}}
    tools = [{"type": "function", "function": function}]
    messages = [{"role": "user", "content": "Pay back."}]
    OpenAI().chat.completions.create(model="m", messages=messages, tools=tools)
    print(refund(5))
"""

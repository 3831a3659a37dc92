"""The demo's incident, recorded once with the real SDK and the loopback provider."""

import os
import shutil
import sys
from typing import NamedTuple

import pytest

from autochron import provider
from tests.cli.processes import ROOT, autochron

REFUND = os.path.join(ROOT, "incidents", "refund")


class Recorded(NamedTuple):
    """A folder with the agent, its rules and the trace of its failure; and the output of the recorded run."""

    folder: object
    trace: str
    printed: bytes


@pytest.fixture(scope="session")
def recorded(tmp_path_factory):
    """Record the agent that refunds far too much. The model server is stopped afterwards."""
    folder = tmp_path_factory.mktemp("recorded")
    for name in ("agent.py", "tools.py", "autochron.toml"):
        shutil.copy(os.path.join(REFUND, name), folder)
    with provider.serve(script=os.path.join(REFUND, "provider.json")) as model:
        run = autochron(folder, "run", "agent.py", env={"OPENAI_BASE_URL": model.url})
    assert run.status == 0, run.said
    assert autochron(folder, "traces", "export", "last", "refund.jsonl").status == 0
    return Recorded(folder, str(folder / "refund.jsonl"), run.out)


@pytest.fixture
def project(recorded, tmp_path):
    """Return a copy of the project for one test: the agent, its rules and its store."""
    shutil.copytree(recorded.folder, tmp_path / "project")
    return tmp_path / "project"


@pytest.fixture
def model():
    """Yield the running model server."""
    with provider.serve(script=os.path.join(REFUND, "provider.json")) as running:
        yield running


@pytest.fixture
def agent(project, monkeypatch):
    """Yield the agent, imported as its author would import it, and remove it from `sys.modules` afterwards."""
    monkeypatch.syspath_prepend(str(project))
    monkeypatch.chdir(project)
    for name in ("agent", "tools"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    import agent as imported

    yield imported
    for name in ("agent", "tools"):
        sys.modules.pop(name, None)

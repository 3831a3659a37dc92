import pytest

from tests.pytest_plugin.projects import AGENT, RULES, Project, copy_project


@pytest.fixture(scope="session")
def recorded(tmp_path_factory):
    """Return a project with an agent that was recorded as a script, and its rules."""
    folder = tmp_path_factory.mktemp("recorded")
    project = Project(folder).write(agent=AGENT, **{"autochron.toml": RULES, "pytest.ini": "[pytest]\n"})
    return project.record("agent.py")


@pytest.fixture
def project(recorded, tmp_path):
    return copy_project(recorded.folder, tmp_path / "project")

import pytest

from tests.pytest_plugin.projects import AGENT, RULES, Project, copied


@pytest.fixture(scope="session")
def recorded(tmp_path_factory):
    """An agent that was recorded as a script, beside its rules."""
    folder = tmp_path_factory.mktemp("recorded")
    project = Project(folder).write(agent=AGENT, **{"autochron.toml": RULES, "pytest.ini": "[pytest]\n"})
    return project.record("agent.py")


@pytest.fixture
def project(recorded, tmp_path):
    return copied(recorded.folder, tmp_path / "project")

"""Fixtures that run commands: with the SDKs imported, without them, or in this process."""

from collections.abc import Iterator

import pytest

from tests.agents.providers import Providers
from tests.agents.workshop import Block, Forked, Fresh


@pytest.fixture(scope="session")
def forked(tmp_path_factory) -> Iterator[Forked]:
    """Yield a runner that forks a process for each command, after it has imported the SDKs."""
    runner = Forked(tmp_path_factory.mktemp("streams"))
    yield runner
    runner.close()


@pytest.fixture(scope="session")
def provider() -> Iterator[Providers]:
    """Yield what serves as `autochron.provider` does, from forks of one process."""
    providers = Providers()
    yield providers
    providers.close()


@pytest.fixture
def fresh() -> Fresh:
    """Return a runner that starts a process for each command, before the SDKs are imported."""
    return Fresh()


@pytest.fixture(scope="session")
def rules(tmp_path_factory) -> str:
    """Return a rule file without rules, for boundaries that are marked by hand."""
    file = tmp_path_factory.mktemp("rules") / "autochron.toml"
    file.write_text("version = 1\npacks = []\n", encoding="utf-8")
    return str(file)


@pytest.fixture
def block(rules):
    """Return `record` and `replay` around functions of a test."""
    return Block(rules)

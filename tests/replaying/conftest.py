"""What `block` needs, as in the tests of agents."""

import pytest

from tests.agents.workshop import Block


@pytest.fixture(scope="session")
def block(tmp_path_factory):
    """Return `record` and `replay` around functions of a test, without any rule."""
    # One for all: to make other rules known takes longer than most tests, where a test before has loaded large libraries.
    file = tmp_path_factory.mktemp("rules") / "autochron.toml"
    file.write_text("version = 1\npacks = []\n", encoding="utf-8")
    return Block(str(file))

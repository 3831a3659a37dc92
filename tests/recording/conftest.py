"""What `block` needs, as in the tests of agents."""

import pytest

from tests.agents.workshop import Block


@pytest.fixture
def block(tmp_path):
    """Give `record` and `replay` around functions of a test, without any rule."""
    file = tmp_path / "autochron.toml"
    file.write_text("version = 1\npacks = []\n", encoding="utf-8")
    return Block(str(file))

"""The fixture `block`."""

import pytest

from tests.agents.workshop import Block


@pytest.fixture(scope="session")
def block(tmp_path_factory):
    """Return `record` and `replay` around functions of a test, without any rule."""
    # One rule file for all tests: to activate other rules takes longer than most tests once large libraries are loaded.
    file = tmp_path_factory.mktemp("rules") / "autochron.toml"
    file.write_text("version = 1\npacks = []\n", encoding="utf-8")
    return Block(str(file))

"""The fixture `block`, as in the tests of agents."""

import pytest

from tests.agents.workshop import Block


@pytest.fixture(scope="session")
def block(tmp_path_factory):
    """Return an object that records and replays functions of a test, with no rule."""
    # One for the session: applying new rules takes longer than most tests do, once a test has imported large libraries.
    file = tmp_path_factory.mktemp("rules") / "autochron.toml"
    file.write_text("version = 1\npacks = []\n", encoding="utf-8")
    return Block(str(file))

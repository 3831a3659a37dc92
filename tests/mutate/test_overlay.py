"""A mutant's text in the place of a file's, in the processes that a test starts."""

import json

import pytest

from tests.cli.processes import autochron, write

FILES = {
    "agent.py": "import tools\n\nprint('agent', tools.NAME)\n",
    "tools.py": "NAME = 'tools'\n",
    "autochron.toml": "version = 1\npacks = []\n",
}


@pytest.mark.parametrize(
    ("file", "text", "expected"),
    [
        ("tools.py", "NAME = 'mutant'\n", "agent mutant\n"),
        ("agent.py", "print('mutant')\n", "mutant\n"),  # the script itself, which no import loads
    ],
)
def test_the_text_in_the_place_of_a_file_is_run(tmp_path, file, text, expected):
    write(tmp_path, FILES)
    overlay = json.dumps({str(tmp_path / file): text})
    ran = autochron(tmp_path, "run", "--quiet", "agent.py", env={"AUTOCHRON_OVERLAY": overlay})
    assert (ran.status, ran.text) == (0, expected)
    assert (tmp_path / file).read_text() == FILES[file]

"""A rule file is data: nothing of it is evaluated when it is read."""

import pytest
import tomli

from autochron.errors import AutochronError, RuleError
from autochron.escaping import toml_string
from autochron.rules.loading import load_rules
from autochron.rules.names import NameFacts, NameTemplateError, name_template
from tests.security.hostile import HOSTILE
from tests.security.watched import watched

CODE = [
    "__import__('os').system('touch owned')",
    "{__import__('os').system('touch owned')}",
    "{tool.__class__.__mro__[1].__subclasses__()}",
    "{tool!r}",
    "{tool:>{width}}",
    "{run()}",
    "{tool.run()}",
    "{tool[run()]}",
    "{lambda: 0}",
    "os:system('touch owned')",
    "subprocess:run(['touch', 'owned'])",
    "canary:run",
    "$(touch owned)",
    "!!python/object/apply:os.system ['touch owned']",
]
# Each place of a rule file that holds a text.
FILE = """version = 1
packs = [{packs}]
project = [{project}]
root = {root}

[[boundary]]
name = {name}
kind = "tool"
define = {define}

[[boundary]]
name = "call"
kind = "tool"
call = {call}

[[trace]]
target = {target}

[redact]
patterns = [{patterns}]
names = [{names}]
"""
PLAIN = {
    "packs": "",
    "project": '"."',
    "root": '"."',
    "name": '"act"',
    "define": '"canary:act"',
    "call": '"canary.call($X)"',
    "target": '"canary:run"',
    "patterns": "",
    "names": "",
}
CANARY = "open('owned', 'w').close()\n\ndef run(): pass\n"


def read(text):
    """Read a rule file, watched; give what ran, and why it was refused."""
    refused = None
    with open("autochron.toml", "w", encoding="utf-8") as file:
        file.write(text)
    for _ in range(2):  # what is imported late is there when it is read again
        with watched() as seen:
            try:
                load_rules("autochron.toml")
            except AutochronError as error:
                refused = error
    # A pattern of code is parsed; what is run is an event `exec`.
    ours = ("event open ", "event compile ", "event os.listdir ")
    # What stands nearest to a name that isn't known is sought with difflib.
    found = [each for each in seen.found if not each.startswith(ours)]
    return [each for each in found if not each.endswith(("/difflib.py", "/heapq.py"))], refused


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    """Work where a module lies that the rules name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "canary.py").write_text(CANARY)
    yield
    assert {each.name for each in tmp_path.iterdir()} <= {"autochron.toml", "canary.py"}


def test_plain_rules_are_read():
    assert read(FILE.format(**PLAIN)) == ([], None)


@pytest.mark.filterwarnings("ignore:Possible nested set:FutureWarning")
@pytest.mark.parametrize("place", PLAIN)
def test_nothing_of_a_rule_file_is_evaluated(place):
    for text in [*CODE, *(each for each in HOSTILE if "\ud800" not in each)]:
        ran, _ = read(FILE.format(**{**PLAIN, place: toml_string(text)}))
        assert ran == [], text


@pytest.mark.parametrize("text", CODE)
def test_a_name_calls_nothing(text):
    """It takes attributes and keys of an argument, and is no format of Python."""

    class Tool:
        def run(self):
            raise AssertionError("it was called")

    with watched() as seen:
        try:
            template = name_template(text)
        except NameTemplateError:
            template = None
    assert seen.found == []
    if template is not None:
        try:
            formed = template.form({"tool": Tool(), "run": Tool().run}, NameFacts("f", "f", "agent"))
        except RuleError:
            return  # it isn't there, or is no text
        assert formed == text


def test_a_rule_file_that_is_none_is_refused():
    for text in [
        "import os",
        "version = 1\npacks = __import__('os')",
        "version = 1\n!!python/name:os.system",
    ]:
        with pytest.raises(tomli.TOMLDecodeError):
            tomli.loads(text)
        ran, refused = read(text)
        assert (ran, refused is None) == ([], False)

"""A rule file is data: reading it evaluates nothing that is written in it."""

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
# A rule file with a slot for each key that holds text.
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
    """Read a rule file while watching; return the unexpected events, and the error if the file was refused."""
    refusal = None
    with open("autochron.toml", "w", encoding="utf-8") as file:
        file.write(text)
    for _ in range(2):  # the first reading does the lazy imports, the second is judged
        with watched() as seen:
            try:
                load_rules("autochron.toml")
            except AutochronError as error:
                refusal = error
    # A code pattern is parsed, which raises `compile`. Running it would raise `exec`.
    ours = ("event open ", "event compile ", "event os.listdir ")
    # The nearest name to an unknown one is found with difflib.
    events = [event for event in seen.found if not event.startswith(ours)]
    return [event for event in events if not event.endswith(("/difflib.py", "/heapq.py"))], refusal


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    """Work in a folder with a module that the rules name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "canary.py").write_text(CANARY)
    yield
    assert {file.name for file in tmp_path.iterdir()} <= {"autochron.toml", "canary.py"}


def test_plain_rules_are_read():
    assert read(FILE.format(**PLAIN)) == ([], None)


@pytest.mark.filterwarnings("ignore:Possible nested set:FutureWarning")
@pytest.mark.parametrize("place", PLAIN)
def test_text_in_any_place_of_a_rule_file_is_not_evaluated(place):
    for text in [*CODE, *(hostile for hostile in HOSTILE if "\ud800" not in hostile)]:
        events, _ = read(FILE.format(**{**PLAIN, place: toml_string(text)}))
        assert events == [], text


@pytest.mark.parametrize("text", CODE)
def test_a_name_template_calls_nothing(text):
    """A template reads attributes and keys of an argument. It is no Python format string."""

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
            name = template.form({"tool": Tool(), "run": Tool().run}, NameFacts("f", "f", "agent"))
        except RuleError:
            return  # the field does not exist, or is no text
        assert name == text


def test_a_file_that_is_no_toml_is_refused_and_runs_nothing():
    for text in [
        "import os",
        "version = 1\npacks = __import__('os')",
        "version = 1\n!!python/name:os.system",
    ]:
        with pytest.raises(tomli.TOMLDecodeError):
            tomli.loads(text)
        events, error = read(text)
        assert (events, error is None) == ([], False)

"""The help of autochron, of each command and of each action, and the data that it is drawn from."""

import contextlib
import io
import shlex

import pytest

from autochron import cli
from autochron.cli import replay, run
from autochron.cli.options import parse
from autochron.cli.overview import SECTIONS, SUMMARIES
from autochron.cli.pages import draw
from autochron.cli.reference import command_pages
from autochron.cli.statuses import MEANINGS, statuses_of
from autochron.errors import UsageError

PAGES = {page.name: page for page in command_pages()}


def said(*words):
    """Return what a command writes to standard output, and its status."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), pytest.raises(SystemExit) as ended:
        cli.main(words)
    return out.getvalue(), ended.value.code


def test_every_command_has_a_page_and_every_page_a_command():
    commands = [name for name in PAGES if " " not in name]
    assert commands == [name for name in SUMMARIES if name != "help"]
    assert sorted(commands) == sorted(cli._COMMANDS)
    assert sorted(MEANINGS) == sorted([*PAGES, "help"])


@pytest.mark.parametrize("name", PAGES)
def test_the_help_of_a_command_is_its_page(name, monkeypatch):
    monkeypatch.setenv("COLUMNS", "90")
    text = draw(PAGES[name], 90)
    assert said(*name.split(), "--help") == (text, 0)
    assert said(*name.split(), "-h") == (text, 0)
    assert said("help", *name.split()) == (text, 0)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_all_its_parts(name):
    page = PAGES[name]
    assert page.summary
    assert page.description.endswith(".")
    assert all(line.startswith(f"autochron {name}") for line in page.usage)
    assert 1 <= len(page.examples) <= 4
    assert page.statuses == statuses_of(name)
    assert [option.names for option in page.options][-3:] == [
        ("-q", "--quiet"),
        ("-v", "--verbose"),
        ("-h", "--help"),
    ]
    assert ("--json" in {option.names[0] for option in page.options}) == bool(page.shape)
    assert all(option.text for option in page.options)


@pytest.mark.parametrize("name", PAGES)
def test_the_text_of_a_page_fits_its_width(name):
    head = len(PAGES[name].usage)
    for line in draw(PAGES[name], 70).splitlines()[head:]:
        if not line.startswith(("  autochron ", "      ")):
            assert len(line) <= 70


EXAMPLES = [example.command for page in PAGES.values() for example in page.examples]


@pytest.mark.parametrize("line", EXAMPLES)
def test_an_example_uses_options_that_there_are(line):
    """Each option is known to the page. Values are read by the parsers themselves."""
    _, command, *words = shlex.split(line)
    name = f"{command} {words[0]}" if words and f"{command} {words[0]}" in PAGES else command
    options = {name: option for option in PAGES[name].options for name in option.names}
    if command in {"run", "replay"}:
        module = {"run": run, "replay": replay}[command]
        parse(command, words, module._OPTIONS, stop=command == "run")
        return
    given = [word.partition("=")[0] for word in words if word.startswith("-")]
    assert [word for word in given if word not in options] == []


@pytest.mark.parametrize("module", [run, replay], ids=["run", "replay"])
def test_the_page_of_a_program_has_the_options_of_its_parser(module):
    name = module.__name__.rpartition(".")[2]
    kinds = {}
    for option in PAGES[name].options:
        kind = "many" if option.repeated else "value" if option.metavar else "flag"
        kinds |= dict.fromkeys(option.names, kind)
    assert kinds == module._OPTIONS


def test_the_overview_names_every_command_in_its_section(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    text, status = said("--help")
    assert status == 0
    assert (text, 0) == said("help") == said()
    lines = text.splitlines()
    for title, commands in SECTIONS.items():
        at = lines.index(f"{title}:")
        assert [line.split()[0] for line in lines[at + 1 : at + 1 + len(commands)]] == list(commands)
    for word in ("examples:", "environment:", "NO_COLOR", "autochron help statuses"):
        assert word in text


def test_the_exit_statuses_are_one_table(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    text, status = said("help", "statuses")
    assert status == 0
    general, *others = text.split("\n\n")
    assert [line.split()[0] for line in general.splitlines()[1:] if line[2] != " "] == [
        *("0", "1", "2", "4", "130"),
    ]
    assert [other.splitlines()[0] for other in others] == [f"autochron {name}:" for name in MEANINGS]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["help", "rnu"], "there is no command 'rnu'; did you mean run? (usage)"),
        (
            ["help", "traces", "lst"],
            "there is no help for 'traces lst'; autochron help takes a command, or statuses (usage)",
        ),
        (["traces", "lst"], "autochron traces has no 'lst'; did you mean list? (usage)"),
        (
            ["traces", "--full", "list"],
            "autochron traces list takes no --full; it is for traces show (usage)",
        ),
        (
            ["incident"],
            "autochron incident does new: autochron incident new TRACE FOLDER (usage)",
        ),
    ],
)
def test_a_mistake_is_refused_in_one_line(words, message, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(words)
    assert (ended.value.code, capsys.readouterr().err) == (2, f"autochron: {message}\n")


def test_an_action_may_stand_after_options_and_their_values():
    from autochron.cli.trace_parsers import trace_parsers

    action, options = trace_parsers().read(["--store", "list", "show", "--all", "last"])
    assert (action, options.store, options.all, options.words) == ("show", "list", True, ["last"])
    with pytest.raises(UsageError, match="has no 'shw'; did you mean show"):
        trace_parsers().read(["--json", "shw"])


def test_verbose_names_rules_and_store_and_shows_the_traceback(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        cli.main(["traces", "show", "-v", "last", "--store", "none.db"])
    shown = capsys.readouterr().err.splitlines()
    assert ended.value.code == 2
    assert shown[0].startswith("autochron: autochron ")
    assert shown[2] == "autochron: store: none.db"
    assert "Traceback (most recent call last):" in shown
    assert shown[-1].startswith("autochron: none.db holds no trace; ")
    with pytest.raises(SystemExit):
        cli.main(["traces", "show", "last", "--store", "none.db"])
    assert len(capsys.readouterr().err.splitlines()) == 1

"""The parser of the commands that run no program: its results and its error messages."""

import contextlib
import io
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autochron.cli.command_parser import CommandParser
from autochron.cli.option_values import choice, number, percentage, seconds
from autochron.errors import UsageError


def parser():
    command_parser = CommandParser("look", "PLACE ... [OPTION ...]", "Look at places.")
    command_parser.add_flag("--json", "as JSON")
    command_parser.add_value("--rules", "FILE", "the rules")
    command_parser.add_value("--least", "N", "at least so many", read=number(1, 9), default=3)
    command_parser.add_list("--live", "WHAT", "what is live")
    return command_parser


PLAIN = {
    **dict.fromkeys(("json", "quiet", "verbose", "help"), False),
    "rules": None,
    "least": 3,
    "live": None,
    "words": [],
}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], {}),
        (["a", "--json", "b"], {"json": True, "words": ["a", "b"]}),
        (["--rules", "x", "--rules=y=z"], {"rules": "y=z"}),
        (["--rules", "-x"], {"rules": "-x"}),
        (["--rules", "--json"], {"rules": "--json"}),
        (["--rules", "two words"], {"rules": "two words"}),
        (["--least", "7"], {"least": 7}),
        (["--live", "a", "w", "--live=b"], {"live": ["a", "b"], "words": ["w"]}),
        (["-", ""], {"words": ["-", ""]}),
        (["a", "--", "--json", "--", "-x"], {"words": ["a", "--json", "--", "-x"]}),
    ],
)
def test_words_are_read_into_options(words, expected):
    assert vars(parser().read(words)) == PLAIN | expected


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--jsn"], "autochron look has no option --jsn; did you mean --json?"),
        (["--jso"], "autochron look has no option --jso; did you mean --json?"),
        (["--rulez=x", "--least", "4"], "autochron look has no option --rulez; did you mean --rules?"),
        (["-x"], "autochron look has no option -x; see autochron look --help"),
        (["-x y"], "autochron look has no option -x y; see autochron look --help"),
        (["--help", "--zzzzzz"], "autochron look has no option --zzzzzz; see autochron look --help"),
        (["--json=yes"], "autochron look: --json takes no value"),
        (["a", "--rules"], "autochron look: --rules wants a value after it"),
        (["--rules", "--", "a"], "autochron look: --rules wants a value after it"),
        (["--rules=--"], "autochron look: --rules wants a value after it"),
        (["--rules="], "autochron look: --rules wants a value, and got an empty one"),
        (["--live", ""], "autochron look: --live wants a value, and got an empty one"),
        (["--least", "-4"], "autochron look: --least takes a number from 1 to 9, not -4"),
        (["--least=10"], "autochron look: --least takes a number from 1 to 9, not 10"),
    ],
)
def test_a_mistake_is_a_usage_error(words, message):
    with pytest.raises(UsageError) as refused:
        parser().read(words)
    assert str(refused.value) == f"{message} (usage)"


WORD = st.one_of(
    st.sampled_from(
        ["--", "-", "", "--json", "--rules", "--live", "--least", "--live=x", "--least=2", "--rules=", "-="]
    ),
    st.text(max_size=8),
    st.text(max_size=6).map("--{}".format),
)


@given(st.lists(WORD, max_size=8))
def test_any_words_are_read_or_refused_in_one_line(words):
    original, out = list(words), io.StringIO()
    try:
        with contextlib.redirect_stdout(out):
            options = parser().read(words)
    except UsageError as refused:
        line = str(refused)
    except SystemExit:
        line = out.getvalue().partition("\n")[0].removeprefix("usage: ")
    else:
        line = "autochron look"
        assert isinstance(options.rules, str | None)
        assert options.rules != ""
        assert 1 <= options.least <= 9
        assert all(options.live or ["x"])
    assert line.startswith("autochron look")
    assert line.count("\n") <= "".join(words).count(
        "\n"
    )  # one line, except for line breaks in the words themselves
    assert words == original


def test_help_names_every_option_and_ends_with_0(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    with pytest.raises(SystemExit) as ended:
        parser().read(["-h"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == (
        "usage: autochron look PLACE ... [OPTION ...]\n"
        "\n"
        "Look at places.\n"
        "\n"
        "options:\n"
        "  --json        as JSON\n"
        "  --rules FILE  the rules\n"
        "  --least N     at least so many (default: 3)\n"
        "  --live WHAT   what is live (may be given again)\n"
        "\n"
        "common options:\n"
        "  -q, --quiet    write only what was asked for, and errors: no progress, no notes, no advice\n"
        "  -v, --verbose  also say which rules and store are used, shorten nothing, and show the traceback of\n"
        "                 an error\n"
        "  -h, --help     show this text\n"
        "\n"
        "exit statuses:\n"
        "  0    it is done\n"
        "  1    something was found\n"
        "  2    the command, the rules, the store or the trace can't be used; one line says why and what to\n"
        "       do\n"
        "  130  ctrl-C\n"
    )


@pytest.mark.parametrize(
    ("read", "text", "value"),
    [
        (percentage, "0", 0.0),
        (percentage, "99.5", 99.5),
        (percentage, "100.1", "x takes a percentage from 0 to 100, not 100.1 (usage)"),
        (percentage, "nan", "x takes a percentage from 0 to 100, not nan (usage)"),
        (seconds, "0.5", 0.5),
        (seconds, "0", "x takes seconds, up to a day, not 0 (usage)"),
        (seconds, "86401", "x takes seconds, up to a day, not 86401 (usage)"),
        (number(4, 100), "4", 4),
        (number(4, 100), "4.0", "x takes a number from 4 to 100, not 4.0 (usage)"),
        (choice(("text", "json")), "json", "json"),
        (choice(("text", "json")), "jsn", "x is jsn; nearest is `json` (usage)"),
    ],
)
def test_values_of_options_are_read_or_refused(read, text, value):
    try:
        result = read(text, "x")
    except UsageError as refused:
        result = str(refused)
    assert result == value


def test_run_and_replay_import_no_argparse(tmp_path):
    (tmp_path / "empty.py").write_text("import sys; print('argparse' in sys.modules)")
    for words in (("run", "--rules", "r.toml", "--fail-under", "1", "empty.py"), ("replay", "last")):
        (tmp_path / "r.toml").write_text("version = 1\n")
        done = subprocess.run(
            [sys.executable, "-m", "autochron", *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout == "False\n"

"""The parser of options accepts any words or refuses them in one line, without a traceback."""

import contextlib
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autochron import cli
from autochron.cli.options import FLAG, MANY, VALUE, parse
from autochron.cli.run import program_of
from autochron.errors import UsageError

OPTIONS = {"--rules": VALUE, "--store": VALUE, "--quiet": FLAG, "-q": FLAG, "--live": MANY}
WORD = st.one_of(
    st.sampled_from(
        [
            "--",
            "-m",
            "-",
            "",
            "-q",
            "--quiet",
            "--rules",
            "--store",
            "--live",
            "--live=x",
            "--rules=",
            "=",
            "-=",
        ]
    ),
    st.text(max_size=8),
    st.text(max_size=6).map("--{}".format),
)


@given(st.lists(WORD, max_size=8), st.booleans())
def test_parse_accepts_any_words_or_refuses_them_in_one_line(words, stop):
    original = list(words)
    try:
        parsed = parse("run", words, OPTIONS, stop=stop)
    except UsageError as refused:
        message = str(refused)
    else:
        message = None
    if message is not None:
        assert message.startswith("autochron run")
        assert message.endswith(" (usage)")
        return
    assert words == original  # the list of words is not changed
    assert parsed.flags <= {"--quiet", "-q"}
    assert set(parsed.values) <= {"--rules", "--store"}
    assert set(parsed.lists) <= {"--live"}
    assert all(parsed.values.values())
    if stop and parsed.rest:
        assert words[len(words) - len(parsed.rest) :] == parsed.rest  # the program's part is untouched


@given(st.lists(WORD, max_size=6))
def test_words_after_the_program_are_its_arguments(words):
    parsed = parse("run", ["--quiet", "agent.py", *words], OPTIONS, stop=True)
    assert (parsed.flags, parsed.rest) == ({"--quiet"}, ["agent.py", *words])
    command = program_of(parsed.rest, "run")
    assert (command.mode, command.target, command.arguments) == ("script", "agent.py", tuple(words))


@given(
    st.sampled_from(["runx", "traces", "rules", "replay", ""]),
    st.lists(WORD.filter(lambda word: word != ""), max_size=5),
)
def test_commands_never_show_a_traceback(command, words):
    """An option that no command has comes first, so that nothing is run or written."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.raises(SystemExit) as ended, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        cli.main([command, "--no-such-option", *words])
    assert ended.value.code == 2
    assert err.getvalue().startswith("autochron: ")
    assert err.getvalue().count("\n") == 1


@pytest.mark.parametrize(
    ("words", "values", "rest"),
    [
        (["--rules", "a", "x", "--rules", "b"], {"--rules": "a"}, ["x", "--rules", "b"]),
        (["--rules=a=b", "x"], {"--rules": "a=b"}, ["x"]),
        (["--rules", "-q", "x"], {"--rules": "-q"}, ["x"]),
        (["--rules", "a", "-m", "x", "-q"], {"--rules": "a"}, ["-m", "x", "-q"]),
        (["--", "-q"], {}, ["--", "-q"]),
        (["-"], {}, ["-"]),
        ([], {}, []),
    ],
)
def test_parse_stops_at_the_program(words, values, rest):
    parsed = parse("run", words, OPTIONS, stop=True)
    assert (parsed.values, parsed.rest) == (values, rest)


def test_options_may_be_mixed_with_other_words():
    parsed = parse(
        "replay", ["last", "--quiet", "--live", "a", "--live=b", "--", "prog.py", "-q"], OPTIONS, stop=False
    )
    assert (parsed.rest, parsed.flags, parsed.lists) == (
        ["last", "--", "prog.py", "-q"],
        {"--quiet"},
        {"--live": ["a", "b"]},
    )

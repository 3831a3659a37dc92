"""Text from a trace contains no control sequence when it is shown on a terminal."""

import pytest

from autochron import escaping
from autochron.cli import main
from autochron.store.tracefile import read_trace, write_trace
from tests.security.agents import recorded
from tests.security.hostile import HOSTILE, with_hostile
from tests.security.incident_files import doctored

CONTROLS = frozenset(
    chr(code) for code in [*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029, 0x202E, 0x2066, 0xFEFF]
)


@with_hostile
def test_escaped_text_has_no_control_characters(text):
    assert escaping.terminal_line(text).replace("\t", "").isprintable()
    assert not CONTROLS & set(escaping.visible(text))
    assert set(escaping.terminal_lines(text)) & CONTROLS <= {"\n", "\t"}


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    """Return a recorded trace."""
    return read_trace(str(recorded(tmp_path_factory.mktemp("made")) / "trace.jsonl"))


@pytest.mark.parametrize(
    "text", [text for text in HOSTILE if "\ud800" not in text], ids=lambda text: ascii(text[:10])
)
def test_commands_print_a_hostile_trace_as_printable_text(trace, text, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_trace(doctored(trace, text), "hostile.jsonl")
    for words in (
        ["show", "hostile.jsonl"],
        ["show", "--full", "hostile.jsonl"],
        ["diff", "hostile.jsonl", "hostile.jsonl"],
        ["import", "hostile.jsonl", "--store", "t.db"],
        ["list", "--store", "t.db"],
    ):
        with pytest.raises(SystemExit) as ended:
            main(["traces", *words])
        assert ended.value.code in {0, 1, 2}
        shown = capsys.readouterr()
        for line in (shown.out + shown.err).split("\n"):
            assert line.replace("\t", "").isprintable(), words

"""Each escaping function keeps a text in its place, and what can be read back is the text itself."""

import ast
import html.parser
import io
import os
import subprocess
import tokenize

import pytest
import tomli
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from autochron import escaping
from tests.security.hostile import HOSTILE

CONTROLS = frozenset(
    chr(code) for code in [*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029, 0x202E, 0x2066, 0xFEFF]
)


def texts(**options):
    """Any text, hostile ones among it."""
    pieces = (
        st.sampled_from(HOSTILE)
        | st.text(**options)
        | st.text("\\\"'`#\n\r\x0c\x1b\u2028 $<>&|*_[]()", max_size=12)
    )
    return st.lists(pieces, max_size=3).map("".join)


def with_hostile(test):
    for text in HOSTILE:
        test = example(text)(test)
    return settings(deadline=None)(given(texts())(test))


def well_formed(text):
    """What UTF-8 can write."""
    return text.encode("utf-8", "replace").decode()


@with_hostile
def test_a_python_string_means_the_text(text):
    written = escaping.python_string(text)
    assert ast.literal_eval(written) == text
    assert written.isprintable()
    module = ast.parse(f"f({written})\n")
    assert ast.dump(module) == ast.dump(ast.parse(f"f({text!r})\n"))


@with_hostile
def test_a_docstring_means_the_text(text):
    module = ast.parse(f'"""{escaping.python_docstring(text)}"""\nx = 1\n')
    assert ast.literal_eval(module.body[0].value) == text
    assert len(module.body) == 2


@with_hostile
def test_a_comment_stays_one(text):
    source = f"x = 1  # {escaping.python_comment(text)}\ny = 2\n"
    kinds = [token.type for token in tokenize.generate_tokens(io.StringIO(source).readline)]
    assert kinds.count(tokenize.COMMENT) == 1
    assert ast.dump(ast.parse(source)) == ast.dump(ast.parse("x = 1\ny = 2\n"))


@with_hostile
def test_a_string_of_toml_means_the_text(text):
    written = escaping.toml_string(text)
    assert tomli.loads(f"a = {written}\nb = 1\n") == {
        "a": "".join("\ufffd" if "\ud800" <= each <= "\udfff" else each for each in text),
        "b": 1,
    }
    assert "\n" not in written


class Reader(html.parser.HTMLParser):
    """Collect the text, and the elements that are not expected."""

    def __init__(self, expected):
        super().__init__()
        self.expected, self.other, self.text = expected, [], ""

    def handle_starttag(self, tag, attrs):
        if tag not in self.expected:
            self.other.append((tag, attrs))

    def handle_comment(self, data):
        self.other.append(("comment", data))

    def handle_data(self, data):
        self.text += data


def read_html(page, *expected):
    reader = Reader(expected)
    reader.feed(page)
    reader.close()
    return reader


@with_hostile
def test_text_of_html_has_no_elements(text):
    text = well_formed(text)
    page = read_html(f'<p title="{escaping.html_text(text)}">{escaping.html_text(text)}</p>', "p")
    assert (page.other, page.text) == ([], escaping.visible(text, keep="\n\t"))


@with_hostile
def test_json_in_a_script_does_not_end_it(text):
    written = escaping.html_json(escaping.python_string(well_formed(text)))
    assert "<" not in written
    assert ast.literal_eval(written) == well_formed(text)


def rendered(markdown, *expected):
    """Render as GitHub does, near enough: CommonMark with tables and strikethrough."""
    page = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(markdown)
    return read_html(page, *expected)


@with_hostile
def test_markdown_text_is_no_markup(text):
    text = well_formed(text)
    page = rendered(f"Before {escaping.markdown_text(text)} after\n", "p")
    assert page.other == []
    assert page.text.split() == f"Before {escaping.visible(text)} after".split()
    alone = rendered(f"- {escaping.markdown_text(text)}\n", "ul", "li", "p")
    assert alone.other == []


@with_hostile
def test_markdown_code_is_one_span(text):
    text = well_formed(text)
    shown = escaping.visible(text).replace("|", "¦")
    page = rendered(f"Before {escaping.markdown_code(text)} after\n", "p", "code")
    assert page.other == []
    assert page.text.split() == f"Before {shown} after".split()
    table = f"| a | b |\n|---|---|\n| {escaping.markdown_code(text)} | after |\n"
    cells = rendered(table, "table", "thead", "tbody", "tr", "th", "td", "code")
    assert cells.other == []
    assert cells.text.split()[-1] == "after"


@with_hostile
def test_a_block_of_markdown_ends_where_it_should(text):
    text = well_formed(text)
    page = rendered(f"{escaping.markdown_block(text)}\n\nafter\n", "pre", "code", "p")
    assert page.other == []
    assert page.text.endswith("\nafter\n")
    assert page.text.count("after") == escaping.visible(text, keep="\n\t").count("after") + 1


@with_hostile
def test_nothing_that_a_terminal_obeys_is_left(text):
    assert escaping.terminal_line(text).replace("\t", "").isprintable()
    assert not CONTROLS & set(escaping.visible(text))
    assert set(escaping.terminal_lines(text)) & CONTROLS <= {"\n", "\t"}


@pytest.mark.parametrize("text", [each for each in HOSTILE if "\x00" not in each and "\ud800" not in each])
def test_a_word_of_a_shell_is_the_text(text, tmp_path):
    line = f"printf %s {escaping.shell_word(text)}"
    done = subprocess.run(
        ["bash", "-c", line],
        cwd=tmp_path,
        capture_output=True,
        check=True,
        env={**os.environ, "LC_ALL": "C.UTF-8"},
    )
    assert done.stdout.decode() == text
    assert "\n" not in line
    assert os.listdir(tmp_path) == []

"""Each escaping function keeps a text within its syntactic place, and parsing the result yields the same text."""

import ast
import io
import os
import subprocess
import tokenize

import pytest
import tomli

from autochron import escaping
from tests.security.hostile import HOSTILE, well_formed, with_hostile
from tests.security.pages import read_html, rendered


@with_hostile
def test_a_python_string_evaluates_to_the_text(text):
    written = escaping.python_string(text)
    assert ast.literal_eval(written) == text
    assert written.isprintable()
    module = ast.parse(f"f({written})\n")
    assert ast.dump(module) == ast.dump(ast.parse(f"f({text!r})\n"))


@with_hostile
def test_a_docstring_evaluates_to_the_text(text):
    module = ast.parse(f'"""{escaping.python_docstring(text)}"""\nx = 1\n')
    assert ast.literal_eval(module.body[0].value) == text
    assert len(module.body) == 2


@with_hostile
def test_a_python_comment_stays_a_single_comment(text):
    source = f"x = 1  # {escaping.python_comment(text)}\ny = 2\n"
    kinds = [token.type for token in tokenize.generate_tokens(io.StringIO(source).readline)]
    assert kinds.count(tokenize.COMMENT) == 1
    assert ast.dump(ast.parse(source)) == ast.dump(ast.parse("x = 1\ny = 2\n"))


@with_hostile
def test_a_toml_string_parses_to_the_text(text):
    written = escaping.toml_string(text)
    assert tomli.loads(f"a = {written}\nb = 1\n") == {
        "a": "".join("\ufffd" if "\ud800" <= character <= "\udfff" else character for character in text),
        "b": 1,
    }
    assert "\n" not in written


@with_hostile
def test_html_text_has_no_elements(text):
    text = well_formed(text)
    page = read_html(f'<p title="{escaping.html_text(text)}">{escaping.html_text(text)}</p>', "p")
    assert (page.other, page.text) == ([], escaping.visible(text, keep="\n\t"))


@with_hostile
def test_json_in_a_script_element_does_not_end_the_element(text):
    written = escaping.html_json(escaping.python_string(well_formed(text)))
    assert "<" not in written
    assert ast.literal_eval(written) == well_formed(text)


@with_hostile
def test_markdown_text_has_no_markup(text):
    text = well_formed(text)
    page = rendered(f"Before {escaping.markdown_text(text)} after\n", "p")
    assert page.other == []
    assert page.text.split() == f"Before {escaping.visible(text)} after".split()
    alone = rendered(f"- {escaping.markdown_text(text)}\n", "ul", "li", "p")
    assert alone.other == []


def test_markdown_text_with_leading_spaces_is_no_code_block():
    assert rendered(f"- {escaping.markdown_text('     text')}\n", "ul", "li", "p").other == []


@with_hostile
def test_markdown_code_is_a_single_code_span(text):
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
def test_a_markdown_code_block_contains_the_whole_text_and_nothing_else(text):
    text = well_formed(text)
    page = rendered(f"{escaping.markdown_block(text)}\n\nafter\n", "pre", "code", "p")
    assert page.other == []
    assert page.text.endswith("\nafter\n")
    assert page.text.count("after") == escaping.visible(text, keep="\n\t").count("after") + 1


@pytest.mark.parametrize("text", [text for text in HOSTILE if "\x00" not in text and "\ud800" not in text])
def test_a_shell_word_expands_to_the_text(text, tmp_path):
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

"""Escape text from a trace, a model or a program for the language that it is written into, one function for each language.

All foreign text goes through one of them: names of crossings and tools, inputs, outputs, paths, headers and messages of
errors. Control characters, line separators and characters that change the direction of text are never written as they are:
they could end a comment, hide code from a reader, or steer a terminal.
"""

from __future__ import annotations

import re

_SPECIAL_IN_MARKDOWN = re.compile(r"[\\`*_\[\]<>|~&#]|\A[-+=]|:(?=//)")
_NUMBER_IN_MARKDOWN = re.compile(r"\A(\d+)([.)])")
_RUNS_OF_TICKS = re.compile("`+")
_IN_HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"}
_IN_JSON = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def visible(text: str, *, keep: str = "") -> str:
    r"""Return a text in which unprintable characters are escaped: `\n`, `\x1b`, `\u202e`. Characters in `keep` stay.

    >>> visible("a\x1b[2Jb")
    'a\\x1b[2Jb'
    """
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() or character in keep else _escape(character)
        for character in text
    )


def terminal_line(text: str) -> str:
    """Return a text as one line for a terminal or a log. Tabs stay."""
    return visible(text, keep="\t")


def terminal_lines(text: str) -> str:
    """Return a text for a terminal or a log. Line feeds and tabs stay."""
    return visible(text, keep="\n\t")


def python_string(text: str) -> str:
    r"""Return a Python string literal in double quotes, on one line.

    >>> python_string('say "hi"\n')
    '"say \\"hi\\"\\n"'
    """
    return f'"{_inside_quotes(text)}"'


def python_docstring(text: str) -> str:
    """Return the inside of a docstring in triple double quotes, on one line. Its value is the text itself."""
    return _inside_quotes(text)


def python_comment(text: str) -> str:
    """Return a text for a Python comment, without the `#`, on one line."""
    return visible(text)


def toml_string(text: str) -> str:
    r"""Return a basic TOML string, on one line. TOML has no lone surrogates, so they become U+FFFD."""
    parts = []
    for character in text:
        if character in '"\\':
            parts.append(f"\\{character}")
        elif character.isprintable():
            parts.append(character)
        elif "\ud800" <= character <= "\udfff":
            parts.append("\\uFFFD")
        else:
            code = ord(character)
            parts.append(f"\\u{code:04X}" if code < 0x10000 else f"\\U{code:08X}")
    return f'"{"".join(parts)}"'


def markdown_text(text: str) -> str:
    """Return a text for a paragraph, a heading, a list item or a cell, on one line, in which nothing is markup.

    Leading spaces are removed, because four of them begin a block of code.
    """
    shown = visible(text).lstrip(" ")
    return _NUMBER_IN_MARKDOWN.sub(r"\1\\\2", _SPECIAL_IN_MARKDOWN.sub(r"\\\g<0>", shown))


def markdown_code(text: str) -> str:
    """Return a text as a Markdown code span, on one line, which may also stand in a cell of a table."""
    shown = visible(text).replace("|", "¦")
    fence = "`" * (max((len(run) for run in _RUNS_OF_TICKS.findall(shown)), default=0) + 1)
    space = " " if not shown or shown[0] in "` " or shown[-1] in "` " else ""
    return f"{fence}{space}{shown}{space}{fence}"


def markdown_block(text: str, language: str = "") -> str:
    """Return a text as a fenced Markdown code block. Line feeds and tabs stay."""
    shown = visible(text, keep="\n\t")
    longest = max((len(run) for run in _RUNS_OF_TICKS.findall(shown)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{shown}\n{fence}"


def html_text(text: str) -> str:
    """Return a text for HTML content or a quoted attribute. Line feeds and tabs stay."""
    return "".join(_IN_HTML.get(character, character) for character in visible(text, keep="\n\t"))


def html_json(text: str) -> str:
    """Return JSON text for a `script` element. No end tag and no comment can begin in it."""
    for character, escape in _IN_JSON.items():  # fast, for texts of many megabytes
        text = text.replace(character, escape)
    return text


def shell_word(text: str) -> str:
    r"""Return one word of a command line for a shell. A text with unprintable characters becomes `$'…'`, as bash reads it.

    >>> shell_word("a b"), shell_word("a\nb")
    ("'a b'", "$'a\\nb'")
    """
    if text.isprintable():
        import shlex  # lazy: every recording imports this module

        return shlex.quote(text)
    parts = []
    for character in text:
        if character in "'\\":
            parts.append(f"\\{character}")
        elif character.isprintable():
            parts.append(character)
        elif character == "\n":
            parts.append("\\n")
        else:
            parts.append("".join(f"\\x{byte:02x}" for byte in character.encode("utf-8", "surrogateescape")))
    return f"$'{''.join(parts)}'"


def _inside_quotes(text: str) -> str:
    return "".join(
        f"\\{character}"
        if character in '"\\'
        else character
        if character.isprintable()
        else _escape(character)
        for character in text
    )


def _escape(character: str) -> str:
    """Return the escape that a Python string literal has for a character."""
    code = ord(character)
    if character == "\n":
        return "\\n"
    if character == "\r":
        return "\\r"
    if character == "\t":
        return "\\t"
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"

"""Text that comes from a trace, a model or a program, made safe for the language that it is written into.

One function a language. Whatever is not ours goes through one of them: names of crossings and tools, inputs, outputs, paths,
headers and messages of errors. A control character, a line separator or a character that changes the direction of text is
never written as it is: it could end a comment, hide code from a reader, or steer a terminal.
"""

from __future__ import annotations

import re

_SPECIAL_IN_MARKDOWN = re.compile(r"[\\`*_\[\]<>|~&#]|\A[-+=]|:(?=//)")
_NUMBER_IN_MARKDOWN = re.compile(r"\A(\d+)([.)])")
_RUNS_OF_TICKS = re.compile("`+")
_IN_HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"}
_IN_JSON = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def visible(text: str, *, keep: str = "") -> str:
    r"""Write what is not printable as an escape: `\n`, `\x1b`, `\u202e`. Characters in `keep` stay.

    >>> visible("a\x1b[2Jb")
    'a\\x1b[2Jb'
    """
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() or each in keep else _escape(each) for each in text)


def terminal_line(text: str) -> str:
    """Write a text as one line of a terminal or a log; tabs stay."""
    return visible(text, keep="\t")


def terminal_lines(text: str) -> str:
    """Write a text of several lines to a terminal or a log; line feeds and tabs stay."""
    return visible(text, keep="\n\t")


def python_string(text: str) -> str:
    r"""Write a Python literal in double quotes, on one line.

    >>> python_string('say "hi"\n')
    '"say \\"hi\\"\\n"'
    """
    return f'"{_inside_quotes(text)}"'


def python_docstring(text: str) -> str:
    """Write the inside of a docstring in triple double quotes, on one line; it means the text itself."""
    return _inside_quotes(text)


def python_comment(text: str) -> str:
    """Write the text of a comment, without its `#`, on one line."""
    return visible(text)


def toml_string(text: str) -> str:
    r"""Write a basic string of TOML, on one line. TOML has no lone surrogates: they become U+FFFD."""
    parts = []
    for each in text:
        if each in '"\\':
            parts.append(f"\\{each}")
        elif each.isprintable():
            parts.append(each)
        elif "\ud800" <= each <= "\udfff":
            parts.append("\\uFFFD")
        else:
            code = ord(each)
            parts.append(f"\\u{code:04X}" if code < 0x10000 else f"\\U{code:08X}")
    return f'"{"".join(parts)}"'


def markdown_text(text: str) -> str:
    """Write a piece of a paragraph, a heading, an item or a cell, on one line: nothing in it is markup.

    Spaces in front are left out: four of them begin a block of code.
    """
    shown = visible(text).lstrip(" ")
    return _NUMBER_IN_MARKDOWN.sub(r"\1\\\2", _SPECIAL_IN_MARKDOWN.sub(r"\\\g<0>", shown))


def markdown_code(text: str) -> str:
    """Write a span of code on one line, also in a cell of a table."""
    shown = visible(text).replace("|", "¦")
    fence = "`" * (max((len(run) for run in _RUNS_OF_TICKS.findall(shown)), default=0) + 1)
    space = " " if not shown or shown[0] in "` " or shown[-1] in "` " else ""
    return f"{fence}{space}{shown}{space}{fence}"


def markdown_block(text: str, language: str = "") -> str:
    """Write a fenced block of code; line feeds and tabs stay."""
    shown = visible(text, keep="\n\t")
    longest = max((len(run) for run in _RUNS_OF_TICKS.findall(shown)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{shown}\n{fence}"


def html_text(text: str) -> str:
    """Write text or the value of a quoted attribute in HTML; line feeds and tabs stay."""
    return "".join(_IN_HTML.get(each, each) for each in visible(text, keep="\n\t"))


def html_json(text: str) -> str:
    """Write JSON text for a `script` element: no end tag and no comment can begin in it."""
    return "".join(_IN_JSON.get(each, each) for each in text)


def shell_word(text: str) -> str:
    r"""Write one word of a command line for a POSIX shell; what is not printable as `$'\n'`.

    >>> shell_word("a b"), shell_word("a\nb")
    ("'a b'", "$'a\\nb'")
    """
    if text.isprintable():
        import shlex  # lazy: every recording imports this module

        return shlex.quote(text)
    parts = []
    for each in text:
        if each in "'\\":
            parts.append(f"\\{each}")
        elif each.isprintable():
            parts.append(each)
        elif each == "\n":
            parts.append("\\n")
        else:
            parts.append("".join(f"\\x{byte:02x}" for byte in each.encode("utf-8", "surrogateescape")))
    return f"$'{''.join(parts)}'"


def _inside_quotes(text: str) -> str:
    return "".join(
        f"\\{each}" if each in '"\\' else each if each.isprintable() else _escape(each) for each in text
    )


def _escape(character: str) -> str:
    """Write a character as Python escapes it."""
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

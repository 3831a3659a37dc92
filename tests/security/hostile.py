"""Strings that have broken other people's escaping."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

HOSTILE = [
    "\nimport os; os.system('touch owned')\n#",
    "\r\nimport os",
    "\rimport os",
    "\x0cimport os",
    "\x0b\x1c\x1d\x1e\x85\u2028\u2029import os",
    '"""\nimport os\n"""',
    "'''\nimport os\n'''",
    '"); import os; ("',
    "\\",
    "\\\n",
    'a\\"); import os #',
    "\\N{BULLET}\\x41\\u0041",
    "{0} %s ${HOME} $(touch owned) `touch owned`",
    "```\n\n# owned\n\n<script>alert(1)</script>",
    "`` ` ```` `",
    "](https://evil.example) ![x](https://evil.example/x.png)",
    "| a | b |\n|---|---|",
    "<script>alert(1)</script><!--",
    "]]></script><img src=x onerror=alert(1)>",
    "&lt;&#x3c;",
    "\x1b]0;owned\x07\x1b[2J\x1b[31m",
    "\x9b31m\x90",
    "\u202eevil\u202c\u2066x\u2069\u200b\ufeff",
    "' \"; touch owned; '",
    "$'\\n'",
    "-rf /",
    "--live=*",
    "~root",
    "#!/bin/sh",
    "# noqa",
    "\ud800\udfff\ud83d",
    "\x00",
    "\U0001f600\U000e0041\u0301",
    "1. one",
    "- item",
    "=====",
    "",
    " ",
    "\t",
    "a" * 5000,
    "[]]\nowned = true\n[[x",
    '"""\nowned = true',
    "name[1]",
]


def texts(**options):
    """Return a strategy of any text, including hostile texts."""
    pieces = (
        st.sampled_from(HOSTILE)
        | st.text(**options)
        | st.text("\\\"'`#\n\r\x0c\x1b\u2028 $<>&|*_[]()", max_size=12)
    )
    return st.lists(pieces, max_size=3).map("".join)


def with_hostile(test):
    """Decorate a test to run with each hostile text and with random ones."""
    for text in HOSTILE:
        test = example(text)(test)
    return settings(deadline=None)(given(texts())(test))


def well_formed(text):
    """Return the text with each character that UTF-8 can't encode replaced."""
    return text.encode("utf-8", "replace").decode()

"""One HTML file that shows a trace. It works from disk, asks nothing of the network, and runs no script but its own."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator

from autochron._runtime.unpatched import os
from autochron.escaping import html_json, html_text
from autochron.report.writing import write_whole
from autochron.viewing.page_data import PageData

_STATIC = os.path.join(os.path.dirname(os.path.abspath(__file__)), "static")
_SCRIPTS = (
    "dom.js",
    "data.js",
    "text.js",
    "json_view.js",
    "messages.js",
    "details.js",
    "rows.js",
    "timeline.js",
    "main.js",
)
"""The files of the page's script, in the order in which they stand in it."""
_CHUNK = 8 << 20
"""Characters of an element with data, about. A browser reads several elements sooner than a very large one."""


def encode_page(data: PageData) -> bytes:
    """Return the page as HTML."""
    script = "\n".join(_read(name) for name in _SCRIPTS)
    style = _read("page.css")
    details = [detail for side in data.sides for detail in side.details]
    parts = {
        "title": html_text(f"{data.title} · autochron"),
        "policy": html_text(content_policy(script, style)),
        "style": style,
        "script": script,
        "index": html_json(data.index().decode()),
        "details": "".join(_elements("details", details)),
        "values": "".join(_elements("values", data.shared.parts)),
    }
    # In one pass over the template, so that a `{{…}}` in an inserted text is not replaced.
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], _read("page.html")).encode(
        "utf-8", "surrogatepass"
    )


def write_page(data: PageData, path: str) -> None:
    """Write the page to a file.

    Raises:
        UsageError: the file can't be written.
    """
    write_whole(path, encode_page(data))


def content_policy(script: str, style: str) -> str:
    """Return the content security policy: this script, this style, images that the page contains, and nothing else."""
    return (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; img-src data:;"
        " base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _elements(name: str, lines: Iterable[str]) -> Iterator[str]:
    """Yield elements that hold lines of JSON, each element with as many as fit."""
    chunk: list[str] = []
    size = 0
    for line in lines:
        chunk.append(line)
        size += len(line)
        if size > _CHUNK:
            yield _element(name, chunk)
            chunk, size = [], 0
    if chunk:
        yield _element(name, chunk)


def _element(name: str, lines: list[str]) -> str:
    text = html_json("\n".join(lines))
    return f'<script type="application/json" data-lines="{name}">{text}</script>\n'


def _read(name: str) -> str:
    with open(os.path.join(_STATIC, name), encoding="utf-8", newline="\n") as file:
        return file.read()

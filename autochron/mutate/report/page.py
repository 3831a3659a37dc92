"""A mutation study as one HTML file: tables of our own above the standard page of mutation testing. It needs no network."""

from __future__ import annotations

import re

from msgspec import json

from autochron._runtime.unpatched import os
from autochron.escaping import html_json
from autochron.mutate.model import Study
from autochron.mutate.report.mutant_table import tables
from autochron.mutate.report.schema import schema_report
from autochron.report.writing import write_whole

_HERE = os.path.dirname(os.path.abspath(__file__))
_ELEMENTS = os.path.join(_HERE, "static", "mutation-test-elements.js")
_TEMPLATES = os.path.join(_HERE, "templates")


def write_page(study: Study, path: str, method: str | None = None) -> None:
    """Write the page.

    Args:
        study: the study.
        path: the path of the file.
        method: whose verdict is the status of a mutant; None: cut-point.

    Raises:
        UsageError: a canary does not hold, the study has no such method, or the file can't be written.
    """
    write_whole(path, encode_page(study, method))


def encode_page(study: Study, method: str | None = None) -> bytes:
    """Return the page; the arguments and errors are those of `write_page`."""
    parts = {
        "style": _read(os.path.join(_TEMPLATES, "mutation.css")),
        "tables": tables(study),
        "report": html_json(json.encode(schema_report(study, method), order="sorted").decode()),
        "elements": _read(_ELEMENTS),
        "script": _read(os.path.join(_TEMPLATES, "mutation.js")),
    }
    template = _read(os.path.join(_TEMPLATES, "mutation.html"))
    # In one pass over the template, so that a `{{…}}` in an inserted text is not replaced.
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], template).encode()


def _read(path: str) -> str:
    with open(path, encoding="utf-8", newline="") as file:
        return file.read()

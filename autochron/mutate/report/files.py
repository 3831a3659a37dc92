"""The files of a mutation study. The same study gives the same bytes."""

from __future__ import annotations

from msgspec import json

from autochron._runtime.unpatched import os
from autochron.mutate.merging import in_order
from autochron.mutate.model import Study
from autochron.mutate.report import tallies
from autochron.mutate.report.latex import tex_macros
from autochron.mutate.report.page import encode_page
from autochron.mutate.report.schema import encode_report
from autochron.report.writing import write_whole


def write_all(study: Study, folder: str, method: str | None = None) -> list[str]:
    """Write study.json, mutants.jsonl, report.json, report.html and macros.tex, and return their paths.

    All contents are made before the first file is written.

    Args:
        study: the study.
        folder: where the files are written.
        method: whose verdict is the status in report.json and report.html; None: cut-point.

    Raises:
        UsageError: a canary does not hold, the study has no such method, or a file can't be written.
    """
    tallies.check(study)
    contents = {
        "study.json": encode_study(study),
        "mutants.jsonl": encode_mutants(study),
        "report.json": encode_report(study, method),
        "report.html": encode_page(study, method),
        "macros.tex": tex_macros(study).encode(),
    }
    paths = []
    for name, data in contents.items():
        path = os.path.join(folder, name)
        write_whole(path, data)
        paths.append(path)
    return paths


def encode_study(study: Study) -> bytes:
    """Return a study as JSON with sorted keys, which can be read as a `Study` again."""
    return json.format(json.encode(study, order="sorted"), indent=2) + b"\n"


def encode_mutants(study: Study) -> bytes:
    """Return a line of JSON for each result, incident by incident, in the order of the source."""
    results = (result for incident in study.incidents for result in in_order(incident.results))
    return b"".join(json.encode(result, order="sorted") + b"\n" for result in results)

"""The files of a mutation study, each the same bytes whenever the study is the same."""

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
    """Write study.json, mutants.jsonl, report.json, report.html and macros.tex, and give their paths.

    Everything is made before anything is written. The status in report.json and report.html is what `method` says.

    Raises:
        UsageError: where the canaries don't hold, the study has no such method, or a file can't be written.
    """
    tallies.check(study)
    made = {
        "study.json": encode_study(study),
        "mutants.jsonl": encode_mutants(study),
        "report.json": encode_report(study, method),
        "report.html": encode_page(study, method),
        "macros.tex": tex_macros(study).encode(),
    }
    paths = []
    for name, data in made.items():
        path = os.path.join(folder, name)
        write_whole(path, data)
        paths.append(path)
    return paths


def encode_study(study: Study) -> bytes:
    """Write a study as JSON, with sorted keys; it can be read as a `Study` again."""
    return json.format(json.encode(study, order="sorted"), indent=2) + b"\n"


def encode_mutants(study: Study) -> bytes:
    """Write a line of JSON for each result: incident by incident, in the order of the source."""
    results = (result for incident in study.incidents for result in in_order(incident.results))
    return b"".join(json.encode(result, order="sorted") + b"\n" for result in results)

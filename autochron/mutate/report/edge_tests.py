"""Writes the edge inputs that tell mutants from the fix as tests of pytest, once these pass on the fix."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from autochron._runtime.unpatched import os
from autochron.errors import UsageError
from autochron.mutate.model import MutationTarget, StudiedIncident, Study
from autochron.mutate.project_copy import root_of, too_large
from autochron.mutate.report.edge_test_run import failures
from autochron.mutate.report.edge_test_text import EdgeTestText, identifier
from autochron.report.writing import write_whole

_INCIDENT = "{incident}"
_FUNCTION = "{function}"

_MOST_FILES = 2_000
_MOST_BYTES = 50 << 20
"""The largest project that is copied for each case."""

_MOST_SHOWN = 8
"""Inputs that a note names."""

Note = Callable[[str], None]
"""Is called with each line on what was not written, and why."""


class _Place(Struct, frozen=True):
    """One target with inputs, and where its test goes."""

    incident: StudiedIncident
    target: MutationTarget
    path: str


def refuse_shared_path(path: str, incidents: int) -> None:
    """Check that the tests of several incidents go into files of their own.

    Raises:
        UsageError: they would go into one.
    """
    if incidents > 1 and _INCIDENT not in path:
        raise UsageError(
            f"--write-tests {path}: there are {incidents} incidents; say where each goes with {_INCIDENT}"
        )


def write_tests(study: Study, path: str, folders: Mapping[str, Path], note: Note) -> list[str]:
    """Write the kept inputs of each target as a test, and return the paths of the files.

    A test is run in its place before it is written. An input on which it fails is left out, such as one that needs files
    which the recorded run had; a test without an input that passes is not written.

    Args:
        study: a study with edge inputs.
        path: the path of a file; `{incident}` in it is replaced by the incident's name, and `{function}` by the
            function's. Where an incident has several functions, the function's name is appended to a path without it.
        folders: the incidents' folders, by name.
        note: is called with what is left out, and why.

    Raises:
        UsageError: several incidents would go into one file, an incident's folder is not known, or there is nothing to
            write.
    """
    incidents = [
        incident for incident in study.incidents if any(edge_input.is_kept for edge_input in incident.inputs)
    ]
    refuse_shared_path(path, len(incidents))
    if not incidents:
        raise UsageError(
            "--write-tests: there is nothing to write, for no other input is needed to tell a mutant from the fix"
        )
    places = [place for incident in incidents for place in _places(incident, path)]
    written = [place.path for place in places if _write(place, folders, note)]
    if not written:
        raise UsageError(
            "--write-tests: no input can be written as a test that passes; look at study.json for them"
        )
    return written


def _places(incident: StudiedIncident, path: str) -> Sequence[_Place]:
    """Return the targets of an incident that have inputs, each with a path of its own."""
    targets = [
        target
        for target in incident.targets
        if any(edge_input.is_kept and edge_input.target == target for edge_input in incident.inputs)
    ]
    path = path.replace(_INCIDENT, incident.name)
    if len(targets) > 1 and _FUNCTION not in path:
        stem, extension = os.path.splitext(path)
        path = f"{stem}_{_FUNCTION}{extension}"
    short = [identifier(target.function) for target in targets]
    return [
        _Place(
            incident,
            target,
            # Two files may define functions of one name.
            path.replace(
                _FUNCTION,
                name
                if short.count(name) == 1
                else identifier(f"{target.file.removesuffix('.py')}_{target.function}").strip("_"),
            ),
        )
        for target, name in zip(targets, short, strict=True)
    ]


def _write(place: _Place, folders: Mapping[str, Path], note: Note) -> bool:
    """Write the test of a target, and return whether there is one that passes."""
    folder = folders.get(place.incident.name)
    if folder is None:
        raise UsageError(
            f"--write-tests: where is the incident {place.incident.name}? Run the command in the folder around it, or beside"
            " its `incidents/`"
        )
    project = root_of(folder.resolve(), (place.target.file,))
    obstacle = too_large(project, _MOST_FILES, _MOST_BYTES)
    if obstacle:
        note(f"{place.path} is not written: each case works on a copy of the project, and {obstacle}")
        return False
    where = os.path.dirname(os.path.abspath(place.path))
    test = EdgeTestText(place.incident, place.target, folder, project, where)
    cases, doubted = test.cases(), test.doubted()
    if doubted:
        more = f" and {len(doubted) - _MOST_SHOWN} more" if len(doubted) > _MOST_SHOWN else ""
        note(
            f"{place.path}: {place.target.function} accepts what no call should have, so a test must not ask for it:"
            f" {', '.join(doubted[:_MOST_SHOWN])}{more}"
        )
    if not cases:
        note(
            f"{place.path} is not written: none of the other inputs of {place.target.function} can be written in Python"
            if doubted
            else f"{place.path} is not written: none of the inputs of {place.target.function} can be written in Python"
        )
        return False
    failing = failures(test.text(cases), place.path, len(cases))
    if failing:
        left_out = [case for number, case in enumerate(cases) if number in failing]
        cases = [case for number, case in enumerate(cases) if number not in failing]
        first = next(iter(failing.values()))
        if not cases or failures(test.text(cases), place.path, len(cases)):
            note(f"{place.path} is not written: it fails on the function as it is ({first})")
            return False
        note(
            f"{place.path}: {len(left_out)} of {len(left_out) + len(cases)} inputs are left out, on which it fails: what"
            f" {place.target.function} does there depends on more than its modules ({first})"
        )
    write_whole(place.path, test.text(cases).encode())
    return True

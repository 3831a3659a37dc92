"""Shards of a study put together: the result has the same bytes as a study that was made in one run."""

from __future__ import annotations

import os
from collections.abc import Sequence

import msgspec

from autochron.errors import UsageError
from autochron.mutate.model import Result, StudiedIncident, Study
from autochron.mutate.scoring import cover

STUDY = "study.json"
"""The name of a study's file."""


def read_study(folder: str) -> Study:
    """Read the study in a folder.

    Args:
        folder: the folder of the results of a study or a shard.

    Raises:
        UsageError: there is no study, or none that this release can read.
    """
    path = os.path.join(folder, STUDY)
    try:
        with open(path, "rb") as file:
            study = msgspec.json.decode(file.read(), type=Study)
    except OSError as error:
        raise UsageError(
            f"{path} can't be read ({error.strerror}); give the --out folders of shards that have ended"
        ) from error
    except msgspec.DecodeError as error:
        raise UsageError(f"{path} is no study ({error}); make the shard anew") from error
    if study.version != 1:
        raise UsageError(
            f"{path} is of version {study.version}, and this release reads 1; make the shard anew"
        )
    return study


def merged(shards: Sequence[tuple[str, Study]]) -> Study:
    """Put the shards of a study together.

    Args:
        shards: each shard with the folder that it was read from.

    Raises:
        UsageError: a shard is missing, is there twice, or belongs to another study.
    """
    first_folder, first = shards[0]
    count = first.shard[1]
    by_number: dict[int, str] = {}
    for folder, study in shards:
        if (study.digest, study.operators) != (first.digest, first.operators):
            raise UsageError(
                f"{folder} is of another study than {first_folder}: its incidents, its operators or its options differ;"
                " make both of the same files"
            )
        if study.shard[1] != count:
            raise UsageError(
                f"{folder} is shard {_shard_text(study)}, and {first_folder} is {_shard_text(first)}; make all of as many"
            )
        if study.shard[0] in by_number:
            raise UsageError(
                f"{folder} and {by_number[study.shard[0]]} are both shard {_shard_text(study)}; leave one out"
            )
        by_number[study.shard[0]] = folder
    missing = [str(number) for number in range(1, count + 1) if number not in by_number]
    if missing:
        raise UsageError(
            f"of {count} shards {', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing; make"
            f" {'it' if len(missing) == 1 else 'them'} with --shard {missing[0]}/{count}"
        )
    studies = [study for _, study in sorted(shards, key=lambda entry: entry[1].shard)]
    return Study(
        operators=first.operators,
        digest=first.digest,
        methods=tuple(_longest_methods(studies)),
        incidents=tuple(
            _merged_incident([study.incidents[index] for study in studies])
            for index in range(len(first.incidents))
        ),
    )


def _shard_text(study: Study) -> str:
    return f"{study.shard[0]}/{study.shard[1]}"


def _longest_methods(studies: Sequence[Study]) -> list[str]:
    return max((list(study.methods) for study in studies), key=len)


def _merged_incident(parts: Sequence[StudiedIncident]) -> StudiedIncident:
    first = parts[0]
    results = in_order([result for part in parts for result in part.results])
    covering = set(cover(result.inputs for result in results))
    return msgspec.structs.replace(
        first,
        inputs=tuple(
            msgspec.structs.replace(edge_input, is_kept=edge_input.number in covering)
            for edge_input in first.inputs
        ),
        results=results,
        agreement=tuple(
            sorted(
                (crosscheck for part in parts for crosscheck in part.agreement),
                key=lambda crosscheck: crosscheck.mutant,
            )
        ),
        not_compared=next((part.not_compared for part in parts if part.not_compared), ""),
    )


def in_order(results: Sequence[Result]) -> tuple[Result, ...]:
    """Return results sorted by the place in the source, then by the operator."""
    return tuple(sorted(results, key=_sort_key))


def _sort_key(result: Result) -> tuple[str | int, ...]:
    mutant = result.mutant
    where = (mutant.line, mutant.column, mutant.end_line, mutant.end_column)
    return mutant.target.file, *where, mutant.operator, mutant.occurrence, mutant.id

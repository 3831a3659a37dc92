"""Shards of a study, put together: the same bytes as of a study that was made at once."""

from __future__ import annotations

import os
from collections.abc import Sequence

import msgspec

from autochron.errors import UsageError
from autochron.mutate.model import Result, StudiedIncident, Study
from autochron.mutate.scoring import cover

STUDY = "study.json"


def read_study(folder: str) -> Study:
    """Read what a shard has left in a folder.

    Raises:
        UsageError: there is nothing, or nothing that this release reads.
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
    """Put shards together.

    Raises:
        UsageError: one is missing, is there twice, or is of another study.
    """
    folder, first = shards[0]
    count = first.shard[1]
    by_number: dict[int, str] = {}
    for other, each in shards:
        if (each.digest, each.operators) != (first.digest, first.operators):
            raise UsageError(
                f"{other} is of another study than {folder}: its incidents, its operators or its options differ;"
                " make both of the same files"
            )
        if each.shard[1] != count:
            raise UsageError(
                f"{other} is shard {_said(each)}, and {folder} is {_said(first)}; make all of as many"
            )
        if each.shard[0] in by_number:
            raise UsageError(
                f"{other} and {by_number[each.shard[0]]} are both shard {_said(each)}; leave one out"
            )
        by_number[each.shard[0]] = other
    missing = [str(number) for number in range(1, count + 1) if number not in by_number]
    if missing:
        raise UsageError(
            f"of {count} shards {', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing; make"
            f" {'it' if len(missing) == 1 else 'them'} with --shard {missing[0]}/{count}"
        )
    studies = [each for _, each in sorted(shards, key=lambda shard: shard[1].shard)]
    return Study(
        operators=first.operators,
        digest=first.digest,
        methods=tuple(each for each in _all_methods(studies)),
        incidents=tuple(
            _joined([study.incidents[at] for study in studies]) for at in range(len(first.incidents))
        ),
    )


def _said(study: Study) -> str:
    return f"{study.shard[0]}/{study.shard[1]}"


def _all_methods(studies: Sequence[Study]) -> list[str]:
    return max((list(study.methods) for study in studies), key=len)


def _joined(parts: Sequence[StudiedIncident]) -> StudiedIncident:
    first = parts[0]
    results = in_order([result for part in parts for result in part.results])
    kept = set(cover(each.inputs for each in results))
    return msgspec.structs.replace(
        first,
        inputs=tuple(msgspec.structs.replace(each, is_kept=each.number in kept) for each in first.inputs),
        results=results,
        agreement=tuple(
            sorted((each for part in parts for each in part.agreement), key=lambda each: each.mutant)
        ),
    )


def in_order(results: Sequence[Result]) -> tuple[Result, ...]:
    """Return results in the order of the source, then of operators; the same however they were tried."""
    return tuple(sorted(results, key=_place))


def _place(result: Result) -> tuple[str | int, ...]:
    mutant = result.mutant
    where = (mutant.line, mutant.column, mutant.end_line, mutant.end_column)
    return mutant.target.file, *where, mutant.operator, mutant.occurrence, mutant.id

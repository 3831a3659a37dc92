"""What a mutation study is asked for: which incidents, how, and what people say of the mutants that live."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from autochron._runtime.unpatched import os
from autochron.errors import UsageError
from autochron.mutate.model import (
    MutationTarget,
)

TRACE = ".jsonl"


class Argued(Struct, frozen=True, forbid_unknown_fields=True):
    """What people say of a mutant that lives: of which incident, its id, and why it does."""

    incident: str
    mutant: str
    why: str


class Arguments(Struct, frozen=True, forbid_unknown_fields=True):
    """Why mutants live: those that are equivalent, and those that it would take something else to kill."""

    equivalent: tuple[Argued, ...] = ()
    survivor: tuple[Argued, ...] = ()


class StudyOptions(Struct, frozen=True, kw_only=True):
    """How a study is made.

    Attributes:
        operators: the name of the set.
        jobs: how many processes try at a time.
        shard: (which, of how many).
        out: the folder of the results.
        tools: functions to mutate, `FILE:NAME` from the incident's folder; none: what the tests swap in, or what is live.
        timeout: seconds of a trial; None: some times what the fix takes.
        memory: bytes that a trial may take.
        inputs: how many inputs a call is given, at most.
        drawn: how many inputs of a call hypothesis tries beside these.
        sample: what share of the mutants plain cosmic-ray runs, too.
        everything: whether decorators, defaults, docstrings and f-strings are changed as well.
        arguments: what people say of mutants that live.
    """

    operators: str = "extended"
    jobs: int = 1
    shard: tuple[int, int] = (1, 1)
    out: str = os.path.join(".autochron", "mutation")
    tools: tuple[str, ...] = ()
    timeout: float | None = None
    memory: int = 1 << 30
    inputs: int = 96
    drawn: int = 0
    sample: float = 0.02
    everything: bool = False
    arguments: Arguments = Arguments()
    executor: str = "local"
    scheduler: str | None = None


def read_arguments(path: str) -> Arguments:
    """Read what people say of mutants that live.

    Raises:
        UsageError: the file can't be read, or says something else.
    """
    import tomllib  # lazy: few studies have any

    try:
        with open(path, "rb") as file:
            found = msgspec.convert(tomllib.load(file), Arguments)
    except OSError as error:
        raise UsageError(f"--explanations {path}: it can't be read ({error.strerror})") from error
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
        raise UsageError(
            f"--explanations {path}: {error}; it takes [[equivalent]] and [[survivor]] tables of incident, mutant and why"
        ) from error
    for each in (*found.equivalent, *found.survivor):
        if not each.why.strip():
            raise UsageError(
                f"--explanations {path}: that of mutant {each.mutant} of {each.incident} says nothing; say why"
            )
    return found


def folders_of(words: Sequence[str]) -> list[Path]:
    """Return the incidents' folders.

    Raises:
        UsageError: one is no incident; or none is named, and there is none here.
    """
    if words:
        found = [Path(word) for word in words]
        for each in found:
            check_folder(each)
        return found
    here = Path()
    if _is_incident(here):
        return [here]
    found = sorted(
        {each.parent for pattern in ("incidents/*/*.jsonl", "*/*.jsonl") for each in here.glob(pattern)}
    )
    found = [each for each in found if _is_incident(each)]
    if not found:
        raise UsageError(
            "there is no incident here, nor in incidents/: name the folder of one, which holds a trace and its test"
            " (`autochron incident new TRACE FOLDER` makes one)"
        )
    return found


def _is_incident(folder: Path) -> bool:
    return any(folder.glob(f"*{TRACE}")) and any(folder.glob("test_*.py"))


def check_folder(folder: Path) -> None:
    """Refuse a folder that holds no test; UsageError."""
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}; name one that holds a trace and its test")
    if not any(folder.glob("test_*.py")):
        raise UsageError(
            f"{folder} holds no test_*.py, so nothing could kill a mutant; name the folder of an incident"
        )


def tools_of(words: Sequence[str]) -> tuple[MutationTarget, ...]:
    """Read `FILE:NAME` words; UsageError where one is none."""
    found = []
    for word in words:
        file, colon, function = word.rpartition(":")
        if not colon or not file or not function:
            raise UsageError(f"--tool {word}: name a function as FILE:NAME, from the incident's folder")
        found.append(MutationTarget(Path(file).as_posix(), function))
    return tuple(found)

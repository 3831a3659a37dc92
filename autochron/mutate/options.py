"""The options of a mutation study: which incidents, how they are studied, and the user's explanations of survivors."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from autochron import __version__
from autochron._runtime.unpatched import os
from autochron.errors import UsageError
from autochron.mutate.model import METHODS, MutationTarget
from autochron.mutate.sets import OperatorSet

TRACE = ".jsonl"
"""How the names of trace files end."""


class Argued(Struct, frozen=True, forbid_unknown_fields=True):
    """The user's explanation of a mutant that survives.

    Attributes:
        incident: the name of its folder.
        mutant: the mutant's id.
        why: the reason.
    """

    incident: str
    mutant: str
    why: str


class Arguments(Struct, frozen=True, forbid_unknown_fields=True):
    """The user's explanations of surviving mutants.

    Attributes:
        equivalent: the mutants that are equivalent to the fix.
        survivor: the others, with what it would take to kill them.
    """

    equivalent: tuple[Argued, ...] = ()
    survivor: tuple[Argued, ...] = ()


class StudyOptions(Struct, frozen=True, kw_only=True):
    """How a study is made.

    Attributes:
        operators: the name of the operator set.
        jobs: how many processes try mutants at a time.
        shard: (number from 1, how many there are).
        out: the folder of the results.
        tools: the functions to mutate, as `FILE:NAME` from the incident's folder; if empty, the functions that the
            tests swap in, or the live tools.
        depth: how many calls lie between these functions and the helpers that are mutated, too; with `tools`, none are.
        baselines: other ways of testing to compare with, as (name, file): tests that replay no trace, in a file or a folder
            from the incident's folder.
        timeout: seconds that a trial may take; None: a multiple of what the fix takes.
        memory: bytes that a trial may take.
        inputs: how many edge inputs a call gets at most.
        drawn: how many inputs hypothesis tries for a call besides.
        sample: the share of the mutants that plain cosmic-ray tries as well, from 0 to 1.
        everything: whether decorators, defaults, docstrings and f-strings are changed as well.
        arguments: the user's explanations of survivors.
        executor: `local` or `dask`.
        scheduler: the address of a Dask scheduler; None: a cluster of this machine.
    """

    operators: str = "extended"
    jobs: int = 1
    shard: tuple[int, int] = (1, 1)
    out: str = os.path.join(".autochron", "mutation")
    tools: tuple[str, ...] = ()
    depth: int = 2
    baselines: tuple[tuple[str, str], ...] = ()
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
    """Read the user's explanations of surviving mutants.

    Args:
        path: the path of a TOML file.

    Raises:
        UsageError: the file can't be read, has other fields, or has an explanation that is empty.
    """
    import tomllib  # lazy: few studies have explanations

    try:
        with open(path, "rb") as file:
            arguments = msgspec.convert(tomllib.load(file), Arguments)
    except OSError as error:
        raise UsageError(f"--explanations {path}: it can't be read ({error.strerror})") from error
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
        raise UsageError(
            f"--explanations {path}: {error}; it takes [[equivalent]] and [[survivor]] tables of incident, mutant and why"
        ) from error
    for argued in (*arguments.equivalent, *arguments.survivor):
        if not argued.why.strip():
            raise UsageError(
                f"--explanations {path}: that of mutant {argued.mutant} of {argued.incident} says nothing; say why"
            )
    return arguments


def folders_of(words: Sequence[str]) -> list[Path]:
    """Return the incidents' folders: those that are named, or this folder, or those in it and in `incidents/`.

    Args:
        words: the folders that the user names.

    Raises:
        UsageError: a named folder has no test, or none is named and no incident is found.
    """
    if words:
        named = [Path(word) for word in words]
        for folder in named:
            check_folder(folder)
        return named
    here = Path()
    if _is_incident(here):
        return [here]
    folders = sorted(
        {trace.parent for pattern in ("incidents/*/*.jsonl", "*/*.jsonl") for trace in here.glob(pattern)}
    )
    folders = [folder for folder in folders if _is_incident(folder)]
    if not folders:
        raise UsageError(
            "there is no incident here, nor in incidents/: name the folder of one, which holds a trace and its test"
            " (`autochron incident new TRACE FOLDER` makes one)"
        )
    return folders


def _is_incident(folder: Path) -> bool:
    return any(folder.glob(f"*{TRACE}")) and any(folder.glob("test_*.py"))


def check_folder(folder: Path) -> None:
    """Check that a folder has a test.

    Raises:
        UsageError: there is no such folder, or no test in it.
    """
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}; name one that holds a trace and its test")
    if not any(folder.glob("test_*.py")):
        raise UsageError(
            f"{folder} holds no test_*.py, so nothing could kill a mutant; name the folder of an incident"
        )


def tools_of(words: Sequence[str]) -> tuple[MutationTarget, ...]:
    """Read names of functions.

    Args:
        words: the names, as `FILE:NAME`.

    Raises:
        UsageError: a name has another form.
    """
    targets = []
    for word in words:
        file, colon, function = word.rpartition(":")
        if not colon or not file or not function:
            raise UsageError(f"--tool {word}: name a function as FILE:NAME, from the incident's folder")
        targets.append(MutationTarget(Path(file).as_posix(), function))
    return tuple(targets)


def read_baseline(text: str) -> tuple[str, str]:
    """Read a baseline.

    Args:
        text: its name and its file, as `NAME=FILE`.

    Raises:
        UsageError: it has another form, or its name is that of a method of the study.
    """
    name, equals, file = text.partition("=")
    if not equals or not name.replace("-", "").isalnum() or not file:
        raise UsageError(f"--baseline takes NAME=FILE, such as unit=test_tools.py, not {text}")
    if name in METHODS:
        raise UsageError(f"--baseline {text}: {name} is a method of each study; name it otherwise")
    return name, Path(file).as_posix()


def check_baselines(folders: Sequence[Path], baselines: Sequence[tuple[str, str]]) -> None:
    """Check that each baseline has its own name, and a file in one folder at least.

    Raises:
        UsageError: it has not.
    """
    names = [name for name, _ in baselines]
    for name, file in baselines:
        if names.count(name) > 1:
            raise UsageError(f"--baseline: two are called {name}; name them apart")
        if not any((folder / file).exists() for folder in folders):
            where = folders[0] if len(folders) == 1 else f"any of the {len(folders)} incidents' folders"
            raise UsageError(f"--baseline {name}={file}: there is no {file} in {where}")


def files_of(path: Path) -> Iterator[Path]:
    """Yield a file, or the files in a folder and below it, without caches."""
    if path.is_file():
        yield path
    elif path.is_dir():
        yield from (file for file in path.rglob("*") if file.is_file() and file.suffix != ".pyc")


def digest_of_sources(folder: Path, operators: OperatorSet, options: StudyOptions) -> str:
    """Return a digest of what the results of an incident depend on, as far as that is known before its tests run.

    Args:
        folder: the incident's folder; its Python, TOML, INI and trace files are read.
        operators: the operators.
        options: how the study is made.
    """
    digest = hashlib.sha256(
        msgspec.json.encode(
            (
                __version__,
                operators,
                options.tools,
                options.depth,
                options.baselines,
                options.inputs,
                options.drawn,
                options.everything,
            )
        )
    )
    for file in sorted(folder.iterdir()):
        if file.is_file() and file.suffix in {".py", ".toml", ".ini", TRACE}:
            digest.update(f"\0{file.name}\0".encode() + file.read_bytes())
    for name, path in options.baselines:
        for file in sorted(files_of(folder / path)):
            digest.update(f"\0{name} {file.name}\0".encode() + file.read_bytes())
    return digest.hexdigest()[:16]

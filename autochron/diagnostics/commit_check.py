"""What `check` found at an earlier commit, as a baseline: `check --since COMMIT` reports only what is new since then."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence

import msgspec

from autochron._runtime.unpatched import environ, os
from autochron.config import find_rule_file
from autochron.diagnostics.accepted_findings import AcceptedFindings
from autochron.diagnostics.check import check
from autochron.errors import RuleError, UsageError
from autochron.model import Category, Rules
from autochron.project import python_files
from autochron.rules.loading import load_rules

_READ = (".py", ".toml")
"""Endings of the files that a check reads beside those that are named."""

_FILE_MODES = (b"100644", b"100755")


def baseline_at(
    commit: str, paths: Sequence[str], rules: Rules, *, categories: Collection[Category], cache: str | None
) -> AcceptedFindings:
    """Check the files of a commit by the rules of that commit, and accept what is found.

    Git is only asked for what it has stored: no filter, hook or other program that its settings name is run.

    Args:
        commit: whatever git takes as a commit.
        paths: the files and folders that are checked. Those that the commit doesn't have are left out.
        rules: today's rules, which say where the commit has its rules.
        categories: the categories to find; none for all.
        cache: the folder of the cache; None for no cache.

    Raises:
        UsageError: a path is in no repository of git, or the repository has no such commit.
        RuleError: the rules of the commit are invalid.
    """
    named = [os.path.realpath(path) for path in paths]
    repository = _Repository(named[0], commit)
    for path in named:
        if not _is_below(path, repository.top):
            raise UsageError(
                f"--since {commit}: {path} is not in the repository {repository.top}; leave it out"
            )
    root = os.path.realpath(rules.root)
    with tempfile.TemporaryDirectory(prefix="autochron-since-") as scratch:
        folder = os.path.realpath(scratch)
        repository.extract([*named, *([root] if _is_below(root, repository.top) else [])], folder)

        def then(path: str) -> str:
            return os.path.normpath(os.path.join(folder, os.path.relpath(path, repository.top)))

        def now(path: str) -> str:
            return os.path.normpath(os.path.join(repository.top, os.path.relpath(path, folder)))

        there = [path for path in map(then, named) if os.path.exists(path)]
        # Code may have moved from a file that is there no more.
        there += [path for path in python_files((folder,)) if not os.path.exists(now(path))]
        if not there:
            return AcceptedFindings(rules.root)
        rules_then = _rules_of_then(rules, there[0], folder, repository.top, then)
        checked = check(there, rules_then, categories=categories, cache=cache)
        accepted = AcceptedFindings(rules_then.root).updated(checked).accepted()
        return AcceptedFindings(
            rules.root,
            (
                msgspec.structs.replace(
                    each, file=os.path.relpath(now(os.path.join(rules_then.root, each.file)), root)
                )
                for each in accepted
            ),
        )


def _rules_of_then(rules: Rules, start: str, folder: str, top: str, then: Callable[[str], str]) -> Rules:
    """Return the rules of a commit.

    Args:
        rules: today's rules.
        start: a file or folder of the commit that is checked.
        folder: where the files of the commit are.
        top: the repository.
        then: returns where the file of a path of today is.
    """
    root = then(os.path.realpath(rules.root))
    file = rules.file and os.path.realpath(rules.file)
    if file and not _is_below(file, top):
        return load_rules(file, root=root)
    found = then(file) if file else find_rule_file(start)
    if found is None or not _is_below(found, folder) or not os.path.isfile(found):
        return load_rules(None, root=root)
    try:
        return load_rules(found)
    except RuleError as error:
        raise RuleError(f"the rules of the commit of --since are invalid: {error.message}") from None


class _Repository:
    """A repository of git, and one commit.

    Attributes:
        top: the folder of the repository.
    """

    def __init__(self, path: str, commit: str) -> None:
        """Find the repository of a path, and the commit in it.

        Raises:
            UsageError: there is no repository, or it has no such commit.
        """
        self._option = f"--since {commit}"
        self.top = path if os.path.isdir(path) else os.path.dirname(path)
        found = self._git("rev-parse", "--show-toplevel")
        if found is None:
            raise UsageError(f"{self._option}: {path} is in no repository of git; take --baseline there")
        self.top = os.path.realpath(os.fsdecode(found.removesuffix(b"\n")))
        names = self._git("rev-parse", "--verify", "--quiet", "--end-of-options", commit + "^{commit}")
        if names is None:
            raise UsageError(
                f"{self._option}: the repository {self.top} has no such commit;"
                " name one that `git log` shows, and fetch it where the clone is shallow"
            )
        self._commit = names.decode().strip()

    def extract(self, paths: Sequence[str], folder: str) -> None:
        """Write the commit's files that a check reads to a folder: those of some paths."""
        names = [os.path.relpath(path, self.top) for path in paths]
        within = [] if "." in names else names
        listed = self._read("ls-tree", "-r", "-z", "--full-tree", self._commit, "--", *within)
        blobs = {}
        for entry in listed.split(b"\0")[:-1]:
            described, _, name = entry.partition(b"\t")
            mode, _, blob = described.split(b" ")
            if mode in _FILE_MODES and (
                name.endswith(tuple(map(str.encode, _READ))) or os.fsdecode(name) in names
            ):
                blobs[name] = blob
        contents = self._contents(list(blobs.values()))
        for name, content in zip(blobs, contents, strict=True):
            path = os.path.join(folder, os.fsdecode(name))
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(content)

    def _contents(self, blobs: Sequence[bytes]) -> Iterator[bytes]:
        """Yield the contents of blobs."""
        output = self._read("cat-file", "--batch", given=b"".join(blob + b"\n" for blob in blobs))
        position = 0
        for blob in blobs:
            end = output.index(b"\n", position)
            _, kind, *sizes = output[position:end].split(b" ")
            if kind != b"blob":
                raise self._unreadable(f"has no object {blob.decode()}")
            size = int(sizes[0])
            yield output[end + 1 : end + 1 + size]
            position = end + size + 2

    def _read(self, *words: str, given: bytes = b"") -> bytes:
        """Return what a command of git prints that reads the commit.

        Raises:
            UsageError: the commit can't be read.
        """
        output = self._git(*words, given=given)
        if output is None:
            raise self._unreadable(f"can't be read by git {words[0]}")
        return output

    def _unreadable(self, why: str) -> UsageError:
        return UsageError(
            f"{self._option}: the repository {self.top} {why}; fetch the commit with all its files"
        )

    def _git(self, *words: str, given: bytes = b"") -> bytes | None:
        """Return what a command of git prints; None if it fails.

        Raises:
            UsageError: there is no git.
        """
        environment = {key: value for key, value in environ.items() if not key.startswith("GIT_")}
        try:
            done = subprocess.run(
                ["git", "-c", "core.fsmonitor=false", *words],
                cwd=self.top,
                env=environment,
                input=given,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                check=False,
            )
        except OSError as error:
            raise UsageError(f"{self._option} needs git, which can't be run ({error.strerror})") from None
        return done.stdout if done.returncode == 0 else None


def _is_below(path: str, folder: str) -> bool:
    return os.path.join(path, "").startswith(os.path.join(folder, ""))

"""The baseline of `check`: the findings that a project has accepted, so that only new ones fail.

A finding is known again by its file, rule, call, enclosing definition and statement, and by how often that occurs. So its
code may move within the file or be laid out anew, and its neighbours may change. Where the file has it no more, the same
statement in the same definition of another file takes its place: the code was moved.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from autochron._runtime.unpatched import os
from autochron.detect.line_hash import source_lines
from autochron.detect.statements import Statements
from autochron.errors import BaselineError
from autochron.model import Category, Checked, Finding
from autochron.project import path_of

if TYPE_CHECKING:
    from typing import Self

VERSION = 1
"""The version of the file format."""

_CONFLICTS = (b"<<<<<<<", b">>>>>>>")
"""How lines begin that git adds where a merge failed."""

_CODE = re.compile(r"""(?>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[^#])*+""")
"""A line up to its comment: a `#` in a text of one line begins none."""


class Accepted(Struct, frozen=True, order=True, forbid_unknown_fields=True, omit_defaults=True):
    """Findings that are accepted, as the file has them.

    Attributes:
        file: the file, relative to the rules' root.
        definition: the qualified name of the enclosing definition; `<module>` for a module's own body.
        line: the line without white space and comment, for people.
        statement: a digest of the statement that the line is in.
        rule: the id of the rule, which is the category.
        call: the callable, as findings name it.
        count: how many such findings the definition has.
    """

    file: str
    definition: str
    line: str
    statement: str
    rule: Category
    call: str
    count: int = 1


class _Versioned(Struct):
    version: int


class _AcceptedFile(Struct, forbid_unknown_fields=True):
    version: int
    accepted: list[Accepted]


_Place = tuple[str, str, Category, str]
"""The enclosing definition, the digest of the statement, the rule, and the call."""


class AcceptedFindings:
    """The findings that are accepted."""

    def __init__(self, root: str, accepted: Iterable[Accepted] = ()) -> None:
        """Take the folder that files are relative to, and the findings that are accepted there."""
        self._root = root
        self._counts: Counter[tuple[str, _Place]] = Counter()
        self._lines: dict[tuple[str, _Place], str] = {}
        self._statements: dict[str, Statements] = {}
        for each in accepted:
            key = each.file, (each.definition, each.statement, each.rule, each.call)
            self._counts[key] += each.count
            self._lines.setdefault(key, each.line)

    @classmethod
    def read(cls, path: str, root: str) -> Self:
        """Read a baseline from its file.

        Args:
            path: the file.
            root: the folder that the files in it are relative to.

        Raises:
            BaselineError: the file is missing, can't be read, or is no baseline of this version.
        """
        try:
            with open(path, "rb") as file:
                content = file.read()
        except FileNotFoundError:
            raise BaselineError(f"there is no baseline {path}; write it with --update-baseline") from None
        except OSError as error:
            raise BaselineError(f"{path} can't be read ({error.strerror}); give another path") from None
        return cls(root, _decoded(content, path).accepted)

    def name(self, file: str) -> str:
        """Return the name that a file of findings has in the baseline: always relative to the root."""
        return os.path.relpath(file, self._root).replace(os.sep, "/") if os.path.isabs(file) else file

    def __len__(self) -> int:
        """Return how many findings are accepted."""
        return self._counts.total()

    def apply(self, checked: Checked, categories: Collection[Category] = ()) -> Checked:
        """Return the result of a check with the findings marked that are accepted, and with how many are there no more.

        Args:
            checked: the result.
            categories: the categories that were checked; none for all.
        """
        is_checked = self._is_checked(checked)
        findings = list(checked.findings)
        left = self._counts.copy()
        moved = []
        for index, finding in enumerate(findings):
            if finding.covered is not None:
                continue
            file, place = self.name(finding.site.file), self._place(finding)
            if left[file, place] > 0:
                left[file, place] -= 1
                findings[index] = msgspec.structs.replace(finding, covered="accepted")
            else:
                moved.append((index, place))
        homes: defaultdict[_Place, list[str]] = defaultdict(list)
        for (file, place), count in sorted(left.items()):
            if is_checked(file):
                homes[place] += [file] * count
        for index, place in moved:
            if homes[place]:
                left[homes[place].pop(0), place] -= 1
                findings[index] = msgspec.structs.replace(findings[index], covered="accepted")
        gone = sum(
            count
            for (file, (_, _, rule, _)), count in left.items()
            if is_checked(file) and (not categories or rule in categories)
        )
        return msgspec.structs.replace(checked, findings=tuple(findings), gone=gone + (checked.gone or 0))

    def updated(self, checked: Checked, categories: Collection[Category] = ()) -> Self:
        """Return a baseline that accepts what a check has found and nothing else covers.

        What was accepted in other files and categories stays.

        Args:
            checked: the result of the check.
            categories: the categories that were checked; none for all.
        """
        is_checked = self._is_checked(checked)
        kept = [
            each
            for each in self.accepted()
            if not is_checked(each.file) or (categories and each.rule not in categories)
        ]
        found = [finding for finding in checked.findings if finding.covered in (None, "accepted")]
        return type(self)(
            self._root,
            [
                *kept,
                *map(self._entry, found),
            ],
        )

    def write(self, path: str) -> None:
        """Write the baseline to a file, one finding a line.

        Raises:
            BaselineError: the file can't be written.
        """
        lines = ",\n".join(msgspec.json.encode(each).decode() for each in self.accepted())
        text = f'{{"version": {VERSION}, "accepted": [\n{lines}\n]}}\n'
        try:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise BaselineError(f"{path} can't be written ({error.strerror}); give another path") from None

    def accepted(self) -> list[Accepted]:
        """Return the findings that are accepted, in order of files and definitions."""
        return sorted(
            Accepted(
                file,
                definition,
                self._lines[file, (definition, statement, rule, call)],
                statement,
                rule,
                call,
                count,
            )
            for (file, (definition, statement, rule, call)), count in self._counts.items()
        )

    def _entry(self, finding: Finding) -> Accepted:
        definition, statement, rule, call = self._place(finding)
        lines = self._source(finding)
        text = lines[finding.site.line - 1] if 0 < finding.site.line <= len(lines) else ""
        return Accepted(self.name(finding.site.file), definition, normalized(text), statement, rule, call)

    def _place(self, finding: Finding) -> _Place:
        site = finding.site
        if site.file not in self._statements:
            self._statements[site.file] = Statements("\n".join(self._source(finding)))
        digest = self._statements[site.file].digest_at(site.line)
        return site.qualname, digest, finding.category, finding.call

    def _source(self, finding: Finding) -> tuple[str, ...]:
        return source_lines(path_of(self._root, finding.site.file))

    def _is_checked(self, checked: Checked) -> Callable[[str], bool]:
        """Return a function that returns whether a file was checked as a whole, or is there no more."""
        read = {self.name(file) for file in checked.read}
        return lambda file: file in read or not os.path.exists(path_of(self._root, file))


def normalized(line: str) -> str:
    """Return a line of source without its comment and without white space."""
    code = _CODE.match(line)
    return "".join(code.group().split() if code else ())


def _decoded(content: bytes, path: str) -> _AcceptedFile:
    """Read the content of a baseline's file.

    Raises:
        BaselineError: it is no baseline of this version.
    """
    renew = "write it anew with --update-baseline"  # which overwrites no other file
    if any(line.startswith(_CONFLICTS) for line in content.splitlines()):
        raise BaselineError(f"{path} has conflicts of a merge; take either side, then {renew}")
    try:
        version = msgspec.json.decode(content, type=_Versioned).version
        if version != VERSION:
            raise BaselineError(
                f"{path} is a baseline of version {version}, and this autochron reads version {VERSION};"
                f" take the autochron that wrote it, or delete it and {renew}"
            )
        return msgspec.json.decode(content, type=_AcceptedFile)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise BaselineError(
            f"{path} is no baseline ({error}); name another file, or delete it and {renew}"
        ) from None

"""Plan what becomes of marked files: their new sources, the rules, and what is refused. Then write it, all or nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from autochron._runtime.unpatched import os
from autochron.adopt.chronicle_api import PACKAGE
from autochron.adopt.edits import edited
from autochron.adopt.leftovers import close, refuse_unwrapping, removable_extractors
from autochron.adopt.lookup import Modules
from autochron.adopt.marks import read_marks
from autochron.adopt.modules import Module, parsed
from autochron.adopt.reading import FunctionMark, Reading, SdkMark
from autochron.adopt.rule_tables import rule_tables
from autochron.adopt.sources import PythonFile, read, read_bytes, write_all
from autochron.adopt.verification import unfit
from autochron.config import RULE_FILE, find_rule_file
from autochron.errors import AdoptionError, AutochronError
from autochron.project import python_files
from autochron.rules.editing import NewTable, replace_rules, trial_rules, with_tables
from autochron.rules.loading import load_rules

_SIGNS_OF_A_PROJECT = ("pyproject.toml", "setup.py", "setup.cfg", ".git")


@dataclass(frozen=True)
class FileChange:
    """A file and its new content."""

    source: PythonFile
    data: bytes
    text: str
    marks: int


@dataclass
class Adoption:
    """What `autochron adopt` would do."""

    rule_file: str
    root: str
    changes: list[FileChange] = field(default_factory=list)
    tables: list[NewTable] = field(default_factory=list)
    rules_before: str = ""
    rules_after: str = ""
    notes: list[str] = field(default_factory=list)
    """`file:line: text` of what the user should know."""
    refusals: list[str] = field(default_factory=list)
    """`file:line: reason` of what can't be taken out."""
    refused_files: list[str] = field(default_factory=list)
    good_files: list[str] = field(default_factory=list)
    """Files with marks in which nothing is refused."""

    @property
    def changes_rules(self) -> bool:
        """Whether the rule file changes."""
        return bool(self.tables)


def plan(paths: Sequence[str], rule_file: str | None = None) -> Adoption:
    """Return what becomes of the marked files among these paths and below them. Nothing is written.

    Args:
        paths: files and folders.
        rule_file: the rules; by default those of the paths' common folder, found upward, or a new file.

    Raises:
        AdoptionError: a file can't be read, or doesn't parse.
        RuleError: the rules can't be read.
    """
    rule_file, root = _rules_of(paths, rule_file)
    modules = Modules(root)
    adoption = Adoption(rule_file, root)
    readings = [read_marks(module, modules) for module in _marked_modules(paths, modules)]
    refuse_unwrapping(readings)
    for function_module, function in removable_extractors(readings, root, adoption.notes):
        reading = next(each for each in readings if each.module is function_module)
        reading.edits.statements.add(function)
    for reading in readings:
        close(reading, root)
        _note(reading, adoption)
    _refuse_two_names(readings, adoption)
    if not adoption.refusals:
        _make(readings, adoption)
    return adoption


def carry_out(adoption: Adoption) -> None:
    """Write the rules and the sources.

    Raises:
        AdoptionError, RuleError: something is refused, or a file can't be written. Then nothing was changed.
    """
    if adoption.refusals:
        raise AdoptionError("; ".join(adoption.refusals))
    before = None
    if adoption.changes_rules:
        if os.path.exists(adoption.rule_file):
            before = read(adoption.rule_file)
        replace_rules(adoption.rule_file, adoption.rules_after, adoption.root)
    try:
        write_all([(change.source, change.data) for change in adoption.changes])
    except BaseException:
        if before is not None:
            write_all([(read(adoption.rule_file), before.data)])
        elif adoption.changes_rules:
            os.unlink(adoption.rule_file)
        raise


# --- which files ------------------------------------------------------------------------------------------------------


def _rules_of(paths: Sequence[str], rule_file: str | None) -> tuple[str, str]:
    """Return the rule file and the folder that its paths start from."""
    folders = [path if os.path.isdir(path) else os.path.dirname(path) for path in map(os.path.abspath, paths)]
    common = os.path.commonpath(folders)
    found = rule_file or find_rule_file(common)
    if found is not None and os.path.exists(found):
        return os.path.abspath(found), load_rules(found).root
    folder = common
    while os.path.dirname(folder) != folder:
        if any(os.path.exists(os.path.join(folder, sign)) for sign in _SIGNS_OF_A_PROJECT):
            break
        folder = os.path.dirname(folder)
    else:
        folder = common
    path = os.path.abspath(rule_file) if rule_file is not None else os.path.join(folder, RULE_FILE)
    return path, os.path.dirname(path)


def _marked_modules(paths: Sequence[str], modules: Modules) -> Iterator[Module]:
    """Yield the modules that mention Chronicle; each once, whatever links lead to it.

    A file that is named has to parse; of the files in a folder only those that mention Chronicle have to.
    """
    seen: set[str] = set()
    for path in paths:
        files = python_files((path,)) if os.path.isdir(path) else (path,)
        for file in files:
            real = os.path.realpath(file)
            if real in seen:
                continue
            seen.add(real)
            if PACKAGE.encode() in read_bytes(file) or file == path:
                source = read(file)
                if _uses_chronicle(source):
                    yield modules.load(file)


def _uses_chronicle(source: PythonFile) -> bool:
    """Return whether a source imports Chronicle, or has a text that may name it.

    Raises:
        AdoptionError: it doesn't parse.
    """
    for node in ast.walk(parsed(source)):
        match node:
            case ast.Import(aliases) if any(_is_chronicle(alias.name) for alias in aliases):
                return True
            case ast.ImportFrom(str(module), _, 0) if _is_chronicle(module):
                return True
            case ast.Constant(str(text)) if _is_chronicle(text):
                return True
    return False


def _is_chronicle(dotted: str) -> bool:
    return dotted.partition(".")[0] == PACKAGE


# --- the result -------------------------------------------------------------------------------------------------------


def _note(reading: Reading, adoption: Adoption) -> None:
    path = reading.module.source.path
    for note in sorted(reading.notes, key=lambda each: each.line):
        adoption.notes.append(f"{path}:{note.line}: {note.text}")
    lines: dict[str, list[int]] = {}
    for refusal in sorted(set(reading.refusals), key=lambda each: (each.line, each.text)):
        lines.setdefault(refusal.text, []).append(refusal.line)
    for text, (first, *others) in lines.items():
        more = f" (also in line {', '.join(map(str, others))})" if others else ""
        adoption.refusals.append(f"{path}:{first}: {text}{more}")
    if reading.refusals:
        adoption.refused_files.append(path)
    elif reading.edits or reading.edits.for_types:
        adoption.good_files.append(path)


def _refuse_two_names(readings: Iterable[Reading], adoption: Adoption) -> None:
    """Refuse a function that is marked with two names, kinds or captures, and a library's clients with two names."""
    first: dict[object, tuple[str, FunctionMark | SdkMark]] = {}
    for reading in readings:
        path = reading.module.source.path
        marks: list[FunctionMark | SdkMark] = [*reading.marks, *reading.sdks]
        for mark in marks:
            place, other = first.setdefault(_marked(mark), (f"{path}:{mark.line}", mark))
            if _facts(mark) != _facts(other):
                what = (
                    f"`{mark.definition.qualname}`"
                    if isinstance(mark, FunctionMark)
                    else f"a client of {mark.pack}"
                )
                adoption.refusals.append(
                    f"{path}:{mark.line}: {what} is marked as `{mark.name}` here and as `{other.name}` at {place}, and a "
                    "rule has one name and one `capture`"
                )
                adoption.refused_files.append(path)


def _marked(mark: FunctionMark | SdkMark) -> object:
    """Return what is marked: a function, or a library's clients."""
    return mark.definition if isinstance(mark, FunctionMark) else mark.pack


def _facts(mark: FunctionMark | SdkMark) -> tuple[object, ...]:
    """Return what a rule says of what is marked."""
    return (mark.name, mark.kind, mark.capture) if isinstance(mark, FunctionMark) else (mark.name,)


def _make(readings: Sequence[Reading], adoption: Adoption) -> None:
    """Make the new sources and the rules, and check that each rule fits what was marked and nothing else."""
    for reading in readings:
        if not reading.edits and not reading.edits.for_types:
            continue
        module = reading.module
        has_type_checking = bool(module.bindings(module.tree, "TYPE_CHECKING"))
        text = edited(module.source.text, module.tree, reading.edits, has_type_checking=has_type_checking)
        if text is None:
            raise AdoptionError(
                f"{module.source.path}: LibCST can't give this file back as it is, so nothing was changed; take its "
                "marks out by hand"
            )
        _check_source(module, text)
        adoption.changes.append(
            FileChange(
                module.source, module.source.encoded(text), text, len(reading.marks) + len(reading.sdks)
            )
        )
    marks = [mark for reading in readings for mark in reading.marks]
    sdks = [mark for reading in readings for mark in reading.sdks]
    rules = load_rules(adoption.rule_file, root=adoption.root) if os.path.exists(adoption.rule_file) else None
    adoption.tables = rule_tables(marks, sdks, rules, adoption.root)
    adoption.rules_before, adoption.rules_after = with_tables(adoption.rule_file, adoption.tables)
    if not marks or not adoption.tables:
        return
    loaded = trial_rules(adoption.rule_file, adoption.rules_after, adoption.root)
    data = {change.source.real: change.data for change in adoption.changes}
    places = {mark.definition: f"{_shown(readings, mark)}:{mark.line}" for mark in marks}
    for definition, reason in unfit(loaded, marks, data):
        adoption.refusals.append(f"{places[definition]}: {reason}")
        adoption.refused_files.append(places[definition].rpartition(":")[0])
    if adoption.refusals:
        adoption.changes, adoption.tables = [], []


def _shown(readings: Iterable[Reading], mark: FunctionMark) -> str:
    return next(reading.module.source.path for reading in readings if mark in reading.marks)


def _check_source(module: Module, text: str) -> None:
    """Check that a new source compiles and has none of Chronicle's marks.

    Raises:
        AdoptionError: it doesn't, which is a fault of autochron's.
    """
    source = module.source
    try:
        changed = Module(PythonFile(source.path, source.real, source.encoded(text), text, source.encoding))
        left = [use for use in changed.uses() if not use.is_annotation]
    except AutochronError as error:
        raise AdoptionError(
            f"{source.path} would not parse without its marks ({error}); nothing was changed"
        ) from error
    if left:
        raise AdoptionError(
            f"{source.path}:{changed.line(left[0].node)}: `{left[0].dotted}` would be left; nothing was changed"
        )

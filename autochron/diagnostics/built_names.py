"""Find out whether the project makes the name of another function from that of a tool: `getattr(self, "tool_" + name)`."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator

from autochron.diagnostics.sources import ImportedSources, SourceFile, first_line

_PLACEHOLDER = re.compile(r"\{[^{}]*\}|%s")

_IN_A_NAME = re.compile(r"\w")

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def leads_to_another(sources: ImportedSources, name: str, places: Collection[tuple[str, int]]) -> bool:
    """Return whether the project has a function or class like `tool_NAME`, and a text from which it may make that name.

    Args:
        sources: the files of the project.
        name: the tool.
        places: the path and the line of each definition that is the tool.

    Raises:
        UnreadableError: a file can't be read or parsed.
    """
    spellings = _spellings(name)
    around = {
        part
        for source in sources.naming(spellings)
        for node in ast.walk(source.tree)
        if isinstance(node, _DEFINITIONS) and not _holds(node, source.path, places)
        for spelling in spellings
        for part in _around(node.name, spelling)
    }
    if not around:
        return False
    words = {before or after for before, after in around}
    return any(
        _is_made_of(piece, before, after)
        for source in sources.naming(words)
        for piece in _pieces(source)
        for before, after in around
    )


def _holds(
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef,
    path: str,
    places: Collection[tuple[str, int]],
) -> bool:
    """Return whether a definition is the tool, or a class or function around it."""
    return any(path == file and first_line(node) <= line <= (node.end_lineno or 0) for file, line in places)


def _spellings(name: str) -> set[str]:
    """Return a name as it is, and as the names of classes and constants spell it: `get_news`, `GetNews`, `getNews`."""
    words = [word for word in name.split("_") if word]
    capitals = "".join(word[:1].upper() + word[1:] for word in words)
    return {name, name.upper(), name.title(), capitals, capitals[:1].lower() + capitals[1:]} - {""}


def _around(longer: str, name: str) -> Iterator[tuple[str, str]]:
    """Yield what stands before and after a name in a longer one."""
    for match in re.finditer(re.escape(name), longer):
        if longer != name:
            yield longer[: match.start()], longer[match.end() :]


def _pieces(source: SourceFile) -> Iterator[tuple[str, str, bool]]:
    """Yield the texts of a file as what stands before and after a place, and whether something is put into that place."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.JoinedStr):
            yield from _of_parts(node.values)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            yield from _of_parts([*_operands(node)])
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value, "", False
            yield "", node.value, False
            for match in _PLACEHOLDER.finditer(node.value):
                yield node.value[: match.start()], node.value[match.end() :], True


def _of_parts(parts: list[ast.expr]) -> Iterator[tuple[str, str, bool]]:
    texts = [
        part.value if isinstance(part, ast.Constant) and isinstance(part.value, str) else None
        for part in parts
    ]
    for index, text in enumerate(texts):
        if text is None:
            before = texts[index - 1] if index else ""
            after = texts[index + 1] if index + 1 < len(texts) else ""
            yield before or "", after or "", True


def _operands(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        yield from _operands(node.left)
        yield from _operands(node.right)
    else:
        yield node


def _is_made_of(piece: tuple[str, str, bool], before: str, after: str) -> bool:
    """Return whether a text may make the longer name.

    A text alone, as in `method.startswith("tool_")`, says so only if it is a word and `_`: others have many uses.
    """
    start, end, is_filled = piece
    if is_filled:
        return (
            start.endswith(before)
            and end.startswith(after)
            and not _IN_A_NAME.match(start[: -len(before) or None][-1:])
            and not _IN_A_NAME.match(end[len(after) :][:1])
        )
    is_word = any(map(str.isalnum, start or end)) and (start.endswith("_") or end.startswith("_"))
    return is_word and (start, end) in {(before, ""), ("", after)}

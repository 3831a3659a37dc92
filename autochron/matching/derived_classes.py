"""A matcher that knows which classes of a project derive from the ones that rules name with a `+`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autochron.matching.matcher import Matcher
from autochron.project import python_files, read_source

if TYPE_CHECKING:
    from autochron.model import Rules
    from autochron.project import Project


def matcher_for(rules: Rules, project: Project) -> Matcher:
    """Return a matcher for a project's modules.

    If a rule names a class with a `+`, all files of the project are read: a module may be imported before the module whose
    classes its own derive from.
    """
    matcher = Matcher(rules)
    if matcher.derived:
        sources = [
            (project.names_of(path), path.endswith("__init__.py"), text)
            for path in python_files(project.paths)
            if (text := _text(path)) is not None
        ]
        while any(_learn(matcher, *source) for source in sources):
            pass  # a class of one module may derive from a class that was found only now
    return matcher


def _learn(matcher: Matcher, names: tuple[str, ...], is_package: bool, text: str) -> bool:  # noqa: FBT001 - a row
    return any(matcher.learn(name, text, is_package=is_package) for name in names)


def _text(path: str) -> str | None:
    from importlib.util import decode_source  # lazy: few rules name a class with a `+`

    source = read_source(path)
    try:
        return None if source is None else decode_source(source)
    except (SyntaxError, UnicodeDecodeError):
        return None

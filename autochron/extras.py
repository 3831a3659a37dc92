"""The packages that only some commands need: where one is missing, the error names the extra to install."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from autochron.errors import MissingExtraError


@contextmanager
def extra(name: str, purpose: str) -> Iterator[None]:
    """Import what an extra of the installation brings, in a `with` block.

    Args:
        name: the name of the extra, as `pip install 'autochron[NAME]'` takes it.
        purpose: the command or the option that needs the import, with which the message begins.

    Raises:
        MissingExtraError: a package isn't installed. An import of autochron's own modules that fails is raised as it is.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or name).partition(".")[0]
        if package == __name__.partition(".")[0]:
            raise
        raise MissingExtraError(
            f"{purpose} needs {package.replace('_', '-')}, which isn't installed: pip install 'autochron[{name}]'"
        ) from None

"""How the scan knows a call of a library."""

from __future__ import annotations

from typing import NamedTuple

from autochron.detect.catalogue import Argument
from autochron.model import Category


class LibraryCall(NamedTuple):
    """A library's callable that reaches a source."""

    category: Category
    call: str
    """The source, as the catalogue names it."""
    determined_by: Argument | None = None
    """The argument that keeps it from reaching the source, if it is given and not None."""
    only_with: Argument | None = None
    """The argument without which it does not reach the source."""
    if_keyword: str | None = None
    """The keyword that some call of the module has to pass, or it does not reach the source."""
    if_text: str | None = None
    """The text that the module has to have written out, or it does not reach the source."""
    if_attribute: str | None = None
    """The attribute that the module has to read, or it does not reach the source."""
    if_concurrent: bool = False
    """Whether the module has to import what starts threads, tasks or processes, or it does not reach the source."""
    unless_keyword: str | None = None
    """The keyword by which some call of the module says what would be asked."""
    if_call: str | None = None
    """The last name of a call that the module has to make, or it does not reach the source."""
    unless_call: str | None = None
    """The last name of a call with which the module replaces the source."""
    harmless: tuple[str, ...] = ()
    """First arguments with which it does not reach the source."""
    only_of: tuple[str, ...] = ()
    """The classes of a first argument with one of which alone it reaches the source; none for any argument."""
    unless_of: str | None = None
    """The class of a first argument with which it does not reach the source."""

"""Guards of SQLite connections that stand beside the program's own authorizer.

SQLite asks one authorizer for each connection. `Authorizer` is that one: it asks the program's own authorizer and each of
our guards. A connection that was opened with the factory of `guardable` keeps its guards when the program sets an
authorizer. Any other connection can lose them, because `sqlite3.Connection.set_authorizer` can't be replaced: one that
was open before, one that a factory makes that is no class, and one on which the program calls the method of
`sqlite3.Connection` explicitly.
"""

from __future__ import annotations

import gc
import sqlite3
from collections.abc import Callable
from typing import Any, TypeAlias

from autochron._runtime.own_frames import drop_frame
from autochron.effects.undisturbed import is_busy, undisturbed

Guard: TypeAlias = Callable[[int, str | None, str | None, str | None], bool]
"""Returns whether to refuse an action; its arguments are the action, its two details, and the name of the database."""


class Authorizer:
    """The authorizer of a connection.

    Attributes:
        guards: our guards.
        own: the program's authorizer; None if it has set none.
    """

    __slots__ = ("guards", "own")

    def __init__(self) -> None:
        self.guards: list[Guard] = []
        self.own: Any = None

    def __call__(
        self, action: int, first: str | None, second: str | None, name: str | None, trigger: str | None
    ) -> Any:
        """Return SQLite's answer for an action.

        The program's authorizer is asked first, so that no guard reports an action that the program itself denies.
        """
        if is_busy():
            return sqlite3.SQLITE_OK
        answer = sqlite3.SQLITE_OK if self.own is None else self.own(action, first, second, name, trigger)
        if answer not in {sqlite3.SQLITE_OK, sqlite3.SQLITE_IGNORE}:
            return answer
        refusals = [guard(action, first, second, name) for guard in self.guards]
        return sqlite3.SQLITE_DENY if any(refusals) else answer


class _GuardableConnection(sqlite3.Connection):
    """A connection on which the program's `set_authorizer` leaves our guards in place."""

    __slots__ = ()

    def set_authorizer(self, authorizer_callback: Any) -> None:
        """Set the program's authorizer."""
        authorizer = _authorizer_of(self)
        try:
            # Where ours is set already, this makes SQLite authorize its prepared statements again.
            super().set_authorizer(authorizer_callback if authorizer is None else authorizer)
        except BaseException as error:
            drop_frame(error)
            raise
        if authorizer is not None:
            authorizer.own = authorizer_callback


_IMITATED = ("__module__", "__qualname__", "__doc__")

for _attribute in ("__name__", *_IMITATED):
    setattr(_GuardableConnection, _attribute, getattr(sqlite3.Connection, _attribute))


class _Unnoticed:
    """The first base of our subclass of a program's class, whose own `__init_subclass__` must not run."""

    __slots__ = ()

    def __init_subclass__(cls, **_: Any) -> None:
        """Do nothing."""


def guardable(factory: Any = None) -> Any:
    """Return a factory for `sqlite3.connect` whose connections keep their guards.

    Args:
        factory: the program's own factory; None if it names none.

    Returns:
        A subclass of the program's factory, with its name. The factory itself if it is no class of connections, or if it
        has a metaclass, because making a subclass would run the metaclass's code.
    """
    if factory is None or factory is sqlite3.Connection:
        return _GuardableConnection
    if type(factory) is not type or not issubclass(factory, sqlite3.Connection):
        return factory
    if issubclass(factory, _GuardableConnection):
        return factory
    for subclass in type.__subclasses__(factory):
        if _Unnoticed in subclass.__bases__:
            return subclass
    # After the program's class, so that a `set_authorizer` of its own runs first and calls ours by `super()`.
    bases = (_Unnoticed, factory, _GuardableConnection)
    namespace = {name: factory.__dict__.get(name) for name in _IMITATED if name != "__qualname__"}
    try:
        return type(
            factory.__name__, bases, {**namespace, "__qualname__": factory.__qualname__, "__slots__": ()}
        )
    except TypeError:  # the program's class has bases that don't go together with ours
        return factory


def add_guard(connection: sqlite3.Connection, guard: Guard) -> None:
    """Ask a guard for each action on a connection, beside the authorizer that the connection has.

    Raises:
        sqlite3.Error: the connection is closed or belongs to another thread.
    """
    authorizer = _authorizer_of(connection)
    if authorizer is not None:
        sqlite3.Connection.set_authorizer(connection, authorizer)
        authorizer.guards.append(guard)
        return
    authorizer = Authorizer()
    authorizer.guards.append(guard)
    # CPython has no call that returns the authorizer of a connection, but the garbage collector sees it. Ours takes its
    # place among what the connection refers to; without an earlier one there are more referents than before.
    before = gc.get_referents(connection)
    sqlite3.Connection.set_authorizer(connection, authorizer)
    after = gc.get_referents(connection)
    if len(before) == len(after):
        authorizer.own = next(
            (old for old, new in zip(before, after, strict=True) if new is authorizer), None
        )


def remove_guard(connection: sqlite3.Connection, guard: Guard) -> None:
    """Stop asking a guard. With the last one, the connection gets the program's authorizer again.

    Raises:
        sqlite3.Error: the connection is closed or belongs to another thread.
    """
    authorizer = _authorizer_of(connection)
    if authorizer is None or guard not in authorizer.guards:
        return
    left = [each for each in authorizer.guards if each is not guard]
    sqlite3.Connection.set_authorizer(connection, authorizer if left else authorizer.own)
    authorizer.guards = left


def files_of(connection: sqlite3.Connection) -> dict[str, str]:
    """Return the files of a connection's databases by their names; the file of a database without one is empty.

    No code of the program runs, and its factories don't change the result.

    Raises:
        sqlite3.Error: the connection is closed or belongs to another thread.
    """
    text_factory = sqlite3.Connection.text_factory
    own_factory = text_factory.__get__(connection)
    cursor = sqlite3.Cursor(connection)
    cursor.row_factory = None
    text_factory.__set__(connection, str)
    try:
        with undisturbed():
            # The comment keeps apart a statement of the program's in the cache, which its authorizer has to see.
            rows = cursor.execute("PRAGMA database_list -- autochron").fetchall()
    finally:
        text_factory.__set__(connection, own_factory)
        cursor.close()
    return {name: file or "" for _, name, file in rows}


def _authorizer_of(connection: sqlite3.Connection) -> Authorizer | None:
    """Return the authorizer of ours that a connection has; None if it has none."""
    return next((each for each in gc.get_referents(connection) if type(each) is Authorizer), None)

"""Import the modules of a recording fast, because the user's program waits for them.

This module itself imports next to nothing, like `cli`.
"""

import gc
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

_EXTENSIONS = "typing_extensions"


class FastImport:
    """A context for importing our own modules in a process with one thread.

    The garbage collector is off, because imports make no garbage. At the end it is told to skip the new objects: to traverse
    them in each collection takes 13 ms per run. Msgspec is made to use `typing` instead of `typing_extensions`, which imports
    `inspect` and takes 9 ms. Both have all that msgspec needs since Python 3.11.
    """

    def __enter__(self) -> None:
        self._was_collecting = gc.isenabled()
        gc.disable()
        self._is_hidden = _EXTENSIONS not in sys.modules
        if self._is_hidden:
            sys.modules[_EXTENSIONS] = None  # type: ignore[assignment]  # so that its import fails

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: "TracebackType | None"
    ) -> None:
        if self._is_hidden:
            del sys.modules[_EXTENSIONS]
        gc.freeze()
        if self._was_collecting:
            gc.enable()

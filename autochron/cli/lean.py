"""Import what a recorded program needs at the least cost: it stands before every program.

This module imports nothing, as `cli` doesn't.
"""

import gc
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

_EXTENSIONS = "typing_extensions"


class Lean:
    """While what is imported is ours alone, in a process that has one thread.

    Nothing is collected, for imports make no garbage, and what they made is put aside: to go through it again and again until
    the process ends takes 13 ms. And msgspec takes `typing` for `typing_extensions`, which imports `inspect` and takes 9 ms:
    what it wants of it is the same there since Python 3.11.
    """

    def __enter__(self) -> None:
        self._was_collecting = gc.isenabled()
        gc.disable()
        self._is_hidden = _EXTENSIONS not in sys.modules
        if self._is_hidden:
            sys.modules[_EXTENSIONS] = None  # type: ignore[assignment]  # so to import it fails

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: "TracebackType | None"
    ) -> None:
        if self._is_hidden:
            del sys.modules[_EXTENSIONS]
        gc.freeze()
        if self._was_collecting:
            gc.enable()

"""The assembler that weaving uses, as `assembler_choice` has chosen it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autochron.errors import WeavingError
from autochron.weaving.assembler_choice import CHOSEN, IS_VERIFIED

if TYPE_CHECKING or CHOSEN == "own":
    from autochron.weaving.assembly import assemble, disassemble
else:
    try:
        from autochron.weaving.portable import assemble, disassemble
    except Exception as error:  # the package, too, may not know this Python
        _reason = f"the bytecode package doesn't work on this Python ({type(error).__name__}: {error})"

        def disassemble(*_: Any, **__: Any) -> Any:
            """Refuse any code."""
            raise WeavingError(_reason)

        assemble = disassemble


def refuse_shape(shape: str) -> None:
    """Refuse a shape of code whose probe fails on this interpreter.

    Args:
        shape: one of `probing.SHAPES`.

    Raises:
        WeavingError: it is refused, with the reason.
    """
    if IS_VERIFIED:
        return
    from autochron.weaving import probing  # lazy: only on a Python that is newer than this autochron

    reason = probing.refused().get(shape)
    if reason is not None:
        raise WeavingError(reason)


__all__ = ["assemble", "disassemble", "refuse_shape"]

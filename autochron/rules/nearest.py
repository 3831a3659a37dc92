"""Find the nearest valid spelling of a name that is not valid."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(names: Iterable[str], wanted: str) -> str | None:
    """Return the name that is most similar to `wanted`; None if none is similar."""
    import difflib  # lazy: only an error needs it

    known = sorted(set(names))
    folded = {name.casefold(): name for name in known}
    if wanted.casefold() in folded:
        return folded[wanted.casefold()]
    close = difflib.get_close_matches(wanted, known, n=1, cutoff=0.6)
    return close[0] if close else None


def hint(names: Iterable[str], wanted: str) -> str:
    """Return the end of a message: `; nearest is …`, or `; known are …` with all names if none is similar."""
    known = list(names)
    close = nearest(known, wanted)
    if close is not None:
        return f"; nearest is `{close}`"
    return f"; known are {', '.join(f'`{name}`' for name in known)}" if known else ""

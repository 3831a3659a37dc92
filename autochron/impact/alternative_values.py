"""Alternative values that a non-deterministic call might have returned, which `impact` substitutes for the recorded ones.

A value here is the recorded form of a call's result (see `detect.ambient_codec`): the indices of a choice, the fields of a
time. Variants are numbered from 0. The first ones are extreme values. The others are drawn, seeded by the variant, the site
and the number of values that the site gave before. So the same variant at the same place gives the same value again.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from autochron.detect.ambient_codec import form_of, packed
from autochron.detect.catalogue import MAKING, Source
from autochron.impact.alternative_files import (
    Same,
    other_answer,
    other_file_value,
    text_of,
    with_text,
    with_words,
)
from autochron.impact.alternative_times import other_time
from autochron.impact.steady_clocks import STEADY_VARIANTS, is_steady
from autochron.impact.temporary_names import is_named
from autochron.impact.varied_call import FIRST_SOUGHT, LEAST, Unvaried, VariedCall, Vary, generator_for

_SOUGHT = 3_000
"""How many other values are looked at in search of one that turns a condition."""

MOST_DRAWN = 1_000
"""The largest range of numbers whose variants are enumerated without repetition; in a larger one they are drawn."""


def vary(call: VariedCall, kept: Any, variant: int) -> Any:
    """Return a variant of a call's value.

    Args:
        call: the call.
        kept: the recorded form of its value.
        variant: the variant's number, from 0.

    Raises:
        Unvaried: no alternative is known for this kind of value.
        KeyError: the variant is that `os.environ[...]` finds no such variable.
        ArithmeticError, ValueError: the variant lies outside what the type can hold, as a date does after year 9999.
    """
    vary_category = _function_for(call.source)
    if vary_category is None:
        raise Unvaried
    return vary_category(call, kept, variant)


def others_of(call: VariedCall, kept: Any) -> Iterator[Any]:
    """Yield other values of a call, as long as some more are known."""
    for variant in range(_SOUGHT):
        try:
            yield vary(call, kept, variant)
        except (KeyError, ArithmeticError, ValueError):
            continue
        except Unvaried:
            return


def variants_of(source: Source | None, conditions: int, *, has_words: bool) -> int:
    """Return how many variants are tried of a source's values, unless the user says otherwise.

    Args:
        source: the source; None for the order of a set.
        conditions: how many conditions its value decides alone.
        has_words: whether the program looks for words in it.
    """
    if source is None:
        return LEAST
    if is_steady(source.call):
        return STEADY_VARIANTS
    if conditions:
        return FIRST_SOUGHT + 2 * min(conditions, _CONDITIONS)
    return FIRST_SOUGHT if source.category == "clock" else LEAST + has_words


_CONDITIONS = 4
"""How many conditions of a site are turned."""


def values_with(texts: Sequence[str], kept: Any) -> Iterator[Any]:
    """Yield values that are made of the texts which a condition names; none in place of a value without text."""
    old = text_of(kept)
    if kept is None:
        yield from texts  # of a variable that is missing
    elif old is not None:
        for text in texts:
            for other in (text, text.upper(), text.lower(), f"{text}{old}", f"{old}{text}"):
                yield with_text(kept, other)


def can_vary(source: Source) -> bool:
    """Return whether alternatives are known for a source's values."""
    return _function_for(source) is not None


def _function_for(source: Source) -> Vary | None:
    if source.category in {"clock", "random", "uuid"} and form_of(source) is None:
        return None
    if is_named(source):
        return _unvaried  # the line draws other names: see `temporary_names`
    if source.call in MAKING or (source.category == "subprocess" and source.call not in ANSWERS):
        return None
    return _BY_CATEGORY.get(source.category)


# --- randomness ------------------------------------------------------------------------------------------------------


class _ExtremeGenerator(random.Random):
    """A generator whose values all lie at the lower end of their range, or at the upper one."""

    def __init__(self, *, most: bool) -> None:
        self._most = most
        super().__init__(0)

    def random(self) -> float:
        return 0.999999 if self._most else 0.0

    def getrandbits(self, k: int, /) -> int:
        return (1 << k) - 1 if self._most else 0

    def _randbelow(self, n: int) -> int:
        return n - 1 if self._most else 0


_EXTREME_DRAWS = frozenset(
    {"random", "uniform", "randint", "randrange", "getrandbits", "triangular", "randbytes"}
)
"""Methods that work with extreme values; the others draw until a value fits, and would never end."""


def _random(call: VariedCall, kept: Any, variant: int) -> Any:
    owner, _, name = call.source.call.rpartition(".")
    generator = generator_for(call, variant)
    if isinstance(kept, list):
        return _indices(name, call, kept, variant, generator)
    if isinstance(kept, bytes):
        return generator.randbytes(len(kept))
    if isinstance(kept, str) and set(kept.lower()) <= set(_DIGITS):
        return _other_digits(kept, call, variant, generator)
    if isinstance(kept, str):
        return "".join(generator.choice(_DIGITS) for _ in kept)
    if name == "choice" and call.size and isinstance(kept, int):
        return _other_index(call, call.size, kept, variant)
    if owner.startswith("numpy") and name not in {
        "seed",
        "SeedSequence",
    }:  # of these a seed is kept, a number
        return _array(name, call, variant)
    small = _small(name, call, kept)
    if small is not None:
        return small[_other_index(call, len(small), small.index(kept), variant)]
    if owner in {"random", "random.SystemRandom"} and isinstance(kept, int | float):
        if name in _EXTREME_DRAWS and variant < 2:
            generator = _ExtremeGenerator(most=variant == 1)
        if hasattr(generator, name) and name not in {"seed", "Random"}:
            return getattr(generator, name)(*call.args, **call.kwargs)
    if type(kept) is int:
        return generator.getrandbits(max(kept.bit_length(), 1))
    raise Unvaried


def _small(name: str, call: VariedCall, kept: Any) -> range | None:
    """Return the range that an integer is drawn from; None where the arguments don't name it by position."""
    args = call.args
    if type(kept) is not int or call.kwargs or not all(type(argument) is int for argument in args):
        return None
    if name == "randint" and len(args) == 2:
        numbers = range(args[0], args[1] + 1)
    elif (name == "randrange" and 1 <= len(args) <= 3) or (name == "randbelow" and len(args) == 1):
        numbers = range(*args)
    else:
        return None
    return numbers if kept in numbers else None


def _other_index(call: VariedCall, size: int, kept: int, variant: int) -> int:
    """Return another number from 0 to size - 1: the two ends first, then all others in a seeded order, without repetition."""
    ends = [index for index in dict.fromkeys((0, size - 1)) if index != kept]
    if variant < len(ends):
        return ends[variant]
    if size > MOST_DRAWN:
        return generator_for(call, variant).randrange(size)
    rest = [index for index in range(1, size - 1) if index != kept]
    random.Random(f"{call.place} {call.nth}").shuffle(rest)
    others = ends + rest
    return others[variant % len(others)] if others else kept


def _indices(
    name: str, call: VariedCall, kept: list[Any], variant: int, generator: random.Random
) -> list[Any]:
    """Return other indices for `choices`, `sample` or `shuffle`."""
    if name == "shuffle":
        moved = {0: kept[::-1], 1: list(range(len(kept))), 2: kept[1:] + kept[:1]}.get(variant)
        return generator.sample(kept, len(kept)) if moved is None else moved
    size = call.size
    if name == "choices":
        able = _drawable(call, size)
        if variant < 2:
            return [able[(0, -1)[variant]]] * len(kept)
        return [generator.choice(able) for _ in kept]
    if name != "sample" or call.compared[2]:
        raise Unvaried
    ends = {0: range(len(kept)), 1: range(size - 1, size - 1 - len(kept), -1)}.get(variant)
    return generator.sample(range(size), len(kept)) if ends is None else list(ends)


def _drawable(call: VariedCall, size: int) -> Sequence[int]:
    """Return the indices that `choices` may draw: those whose weight is not zero."""
    _, weights, totals, _ = call.compared
    if totals is not None:
        weights = [after - before for before, after in zip([0, *totals], totals, strict=False)]
    able = range(size) if weights is None else [index for index, weight in enumerate(weights) if weight]
    return able or range(size)


def _array(name: str, call: VariedCall, variant: int) -> Any:
    import numpy as np  # lazy: the program has drawn from it

    generator = np.random.RandomState(random.Random(f"{call.place} {variant} {call.nth}").getrandbits(32))
    if name == "shuffle" or not hasattr(generator, name):
        raise Unvaried
    return packed(getattr(generator, name)(*call.args, **call.kwargs))


def _uuid(call: VariedCall, kept: Any, variant: int) -> Any:
    generator = generator_for(call, variant)
    if isinstance(kept, uuid.UUID):
        text = _other_digits(kept.hex, call, variant, generator)
        return uuid.UUID(text, version=4 if kept.version is None else kept.version)
    if isinstance(kept, str):
        return _other_digits(kept, call, variant, generator)
    if type(kept) is int:
        return int(_other_digits(f"{kept:012x}", call, variant, generator), 16)
    raise Unvaried


_DIGITS = "0123456789abcdef"


def _other_digits(text: str, call: VariedCall, variant: int, generator: random.Random) -> str:
    """Return other hexadecimal digits. The first and the last are others each time, since a shard may depend on them."""
    digits = [
        generator.choice(_DIGITS) if character in "0123456789abcdefABCDEF" else character
        for character in text
    ]
    places = [place for place, character in enumerate(text) if character.lower() in _DIGITS]
    for place in {places[0], places[-1]} if places else ():
        digit = int(text[place], 16)
        # The first variant turns the order of several values around.
        digits[place] = _DIGITS[15 - digit if not variant else (digit + 7 * call.nth + variant) % 16]
    return "".join(digits)


# --- the machine -----------------------------------------------------------------------------------------------------


def _environment(call: VariedCall, kept: Any, variant: int) -> Any:
    """Return another value of an environment variable, the default for a missing one, or an empty string."""
    if call.name == "__contains__":
        return not kept
    if kept is not None and not isinstance(kept, str):
        raise Unvaried
    if variant == 1:
        if call.name == "__getitem__":
            raise KeyError(*call.args)
        return call.args[1] if len(call.args) > 1 else call.kwargs.get("default")
    if variant == 2:
        return ""
    if kept and kept.isdecimal():
        if variant < LEAST:
            return str(1 if variant == LEAST - 1 else int(kept) + 17 + 1000 * variant)
        return str(generator_for(call, variant).randrange(10 ** (len(kept) + 1)))
    flag = {"1": "0", "true": "false", "false": "true", "yes": "no", "no": "yes"}.get((kept or "").lower())
    if variant == 0 and flag is not None:
        return flag
    if not kept:
        return ("1", "", "", "other-value")[variant] if variant < 4 else f"value-{variant}"
    # Another beginning as well: a program may look at that only.
    return f"{kept}-{variant}" if variant % 2 == 0 else f"{variant}-{kept}"


def _host(call: VariedCall, kept: Any, variant: int) -> Any:
    if isinstance(kept, tuple):
        return _by_files(other_file_value, call, kept, variant)
    if isinstance(kept, bool) or not isinstance(kept, int | float | str):
        raise Unvaried
    if isinstance(kept, str):
        return f"{kept}-{variant}" if variant % 2 == 0 else f"{'az'[variant // 2 % 2]}{variant}-{kept}"
    return type(kept)(
        (kept + 1, 1, kept * 2 + 3, kept + 7919)[variant] if variant < 4 else kept + 31 * variant
    )


def _files(call: VariedCall, kept: Any, variant: int) -> Any:
    """Return other content, another listing or status, or that there is no such file."""
    return _by_files(other_file_value, call, kept, variant)


def _subprocess(call: VariedCall, kept: Any, variant: int) -> Any:
    """Return another answer of a process; only of calls that wait for it."""
    if call.source.call not in ANSWERS:
        raise Unvaried
    return _by_files(lambda _name, answer, number: other_answer(answer, number), call, kept, variant)


def _unvaried(_call: VariedCall, _kept: Any, _variant: int) -> Any:
    raise Unvaried


def _by_files(change: Callable[[str, Any, int], Any], call: VariedCall, kept: Any, variant: int) -> Any:
    if variant == LEAST and call.words and (other := with_words(kept, call.words)) != kept:
        return other
    try:
        # Files get ages of their own, or their order stays the same.
        turned = (variant + call.nth) % LEAST if variant < LEAST else variant
        return change(call.source.call.rpartition(".")[2], kept, turned)
    except Same:
        raise Unvaried from None


ANSWERS = frozenset(
    f"subprocess.{name}" for name in ("run", "call", "check_output", "getoutput", "getstatusoutput")
)
"""Sources that wait for another process and return its answer."""

_BY_CATEGORY: dict[str, Vary] = {
    "clock": other_time,
    "random": _random,
    "uuid": _uuid,
    "env": _environment,
    "host": _host,
    "files": _files,
    "subprocess": _subprocess,
}

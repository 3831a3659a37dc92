"""What today's code did when an incident was made of a trace: the effects and the varying fields that a verdict needs.

`incident new` runs the test several times, each in fresh state and with another hash seed, clock and seed of chance. What
these runs have in common is the baseline. It is kept beside the trace as fingerprints, which show nobody's data.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from autochron.effects.changes import LOG
from autochron.errors import StoreError
from autochron.model import StateEffect
from autochron.reproduction.prints import (
    ValuePrint,
    flatten,
    is_below,
    print_of,
    text_fits,
    text_print,
    words_of,
)

FILE = "baseline.json"

VERSION = 1

_NUMBER = re.compile(r"(?<![\w.:-])\d+(?:\.\d+)?(?![\w:-])")

_CLOSE = 0.01
"""By which part an amount may be another and still be the same harm: a cent more, or all in two pieces."""


class EffectPrint(Struct, frozen=True, kw_only=True):
    """One effect, as far as it was the same in each run."""

    path: str
    what: str
    value: ValuePrint
    carries: tuple[str, ...] = ()
    """Fields of the crossing's input whose words and numbers it holds: `cents`."""
    family: str = ""
    """The path with each number in it left out, by which files of one kind are told."""
    numbers: dict[str, str] = {}
    """Where it holds a number of the input: the place there, as `numbers_of` names it, and the input's field."""
    amount: float = 0.0
    """How much its numbers are, or change, in all; of those that are the same in each run."""

    def is_again(self, effect: StateEffect) -> bool:
        """Return whether an effect is this one once more."""
        fits = text_fits(self.path, effect.path) and text_fits(self.what, effect.what)
        return fits and not self.value.differences(msgspec.json.decode(effect.value))

    def is_alike(self, effect: StateEffect) -> bool:
        """Return whether an effect is of the same kind, in the same place."""
        path = text_fits(self.path, effect.path) or self.family == _family([effect.path])
        return path and text_fits(self.what, effect.what)

    def recurs_in(self, effects: Sequence[StateEffect], given: Mapping[str, Any]) -> bool:
        """Return whether some effects are this one, in whatever words.

        They are where one is it once more; where one holds all of the crossing's input that this one held, in another
        format, file or row, or several of its kind do together; and where those of its kind come to about as much, in one
        piece or in several.
        """
        if any(self.is_again(each) or self._is_copied(each) for each in effects):
            return True
        alike = [each for each in effects if self.is_alike(each)]
        wanted = {word for field in self.carries for word in words_in(given.get(field))}
        together = {word for each in alike for word in words_in(each)}
        if wanted and any(
            wanted <= words for words in (together, *(set(words_in(each)) for each in effects))
        ):
            return True
        values = [msgspec.json.decode(each.value) for each in alike]
        if self.numbers:
            return self._adds_up([numbers_of(each) for each in values], _numbers_in(given))
        varying = self.value.varying()
        amount = sum(amount_of(each, varying) for each in values)
        return self.amount > 0 and _is_close(amount, self.amount)

    def _is_copied(self, effect: StateEffect) -> bool:
        """Return whether an effect writes the very same to a file that differs by a number in its name."""
        value = msgspec.json.decode(effect.value)
        return value is not None and self.is_alike(effect) and not self.value.differences(value)

    def _adds_up(self, held: Sequence[Mapping[str, float]], given: Mapping[str, float]) -> bool:
        """Return whether effects hold each number of the input: each of them as it is, such as an order's, or in the sum."""
        fields = dict.fromkeys(self.numbers.values())
        return all(
            any(
                _is_sum([each[place] for each in held if place in each], given.get(field, 0.0))
                for place, its in self.numbers.items()
                if its == field
            )
            for field in fields
        )


class CrossingPrint(Struct, frozen=True, kw_only=True):
    """One live crossing, as far as it was the same in each run."""

    outcome: ValuePrint
    effects: tuple[EffectPrint, ...] = ()
    unlike_record: tuple[str, ...] = ()
    """Fields of the outcome that are the same in each run and not what was recorded: state is missing."""
    left_running: tuple[str, ...] = ()
    """Threads and tasks that were at work when it had ended."""


class Baseline(Struct, frozen=True, kw_only=True):
    """What the runs of unchanged code had in common."""

    version: int = VERSION
    runs: int = 0
    crossings: dict[str, CrossingPrint] = {}
    outside: tuple[EffectPrint, ...] = ()
    """What the program did to the world outside of its live crossings."""
    sources: dict[str, str] = {}
    """The project's modules that ran, by path from the rules' root: SHA-256 of each."""
    files: dict[str, str] = {}
    """What `incident new` made in the folder, by name: SHA-256 of each."""
    settled: bool = False
    """Whether the test came out as it should when it was made."""
    snapshots: str | None = None
    """The folder with the contents of snapshots, relative to this one, where that isn't the project's own."""
    swallowed: tuple[str, ...] = ()
    """Crashes that the program's code caught itself, as it always does."""


def _is_sum(pieces: Sequence[float], whole: float) -> bool:
    return bool(pieces) and (set(pieces) == {whole} or _is_close(sum(pieces), whole))


def _is_close(amount: float, wanted: float) -> bool:
    return abs(amount - wanted) <= _CLOSE * wanted


def _family(paths: Sequence[str]) -> str:
    return text_print([re.sub(r"\d+", "0", each) for each in paths])


def words_in(value: Any) -> list[str]:
    """Return the words and whole numbers in a value or an effect, in one form: 900.00 is 900, and PAY is pay.

    Where an effect changed a number, by how much is one, too.
    """
    if isinstance(value, StateEffect):
        changed = " ".join(map(str, _changed_by(msgspec.json.decode(value.value)).values()))
        text = f"{value.path} {value.what} {value.value.decode('utf-8', 'replace')} {changed}"
    else:
        text = msgspec.json.encode(value).decode()
    text = re.sub(r"(?<=\d)[,_](?=\d{3}\b)", "", text)
    text = re.sub(r"(\d)\.0+\b", r"\1", text)
    return [word.lower() for word in words_of(text, digits=True)]


def amount_of(value: Any, varying: Sequence[str] = ()) -> float:
    """Return how much the numbers in an effect's value are, or change."""
    return sum(number for place, number in numbers_of(value).items() if not is_below(place, varying))


def numbers_of(value: Any) -> dict[str, float]:
    """Return the numbers in an effect's value, or by how much they change, by place.

    Of a text with more than a number in it, they are numbered: `line#0`.
    """
    if isinstance(value, dict) and {"before", "after"} <= value.keys():
        return _changed_by(value)
    found: dict[str, float] = {}
    for path, leaf in flatten(value).items():
        if _is_number(leaf):
            found[path] = float(abs(leaf))
        elif isinstance(leaf, str):
            numbers = _NUMBER.findall(leaf)
            whole = len(numbers) == 1 and numbers[0] == leaf.strip()
            found |= {path if whole else f"{path}#{at}": float(each) for at, each in enumerate(numbers)}
    return found


def _changed_by(value: Any) -> dict[str, float]:
    """Return by how much numbers change, by place; nothing for an effect that changes none."""
    if not (isinstance(value, dict) and {"before", "after"} <= value.keys()):
        return {}
    before, after = flatten(value["before"]), flatten(value["after"])
    return {
        f"after.{path}": float(abs(after[path] - before[path]))
        for path in before
        if _is_number(before[path]) and _is_number(after.get(path))
    }


def _numbers_in(given: Mapping[str, Any]) -> dict[str, float]:
    """Return the numbers of an input that say something, by field."""
    return {
        path: float(abs(leaf)) for path, leaf in flatten(given).items() if _is_number(leaf) and abs(leaf) > 1
    }


def is_opaque(effect: StateEffect) -> bool:
    """Return whether only the digest is known of what was written."""
    value = msgspec.json.decode(effect.value)
    return isinstance(value, dict) and value.keys() == {"digest", "size"}


def _is_number(leaf: Any) -> bool:
    return isinstance(leaf, (int, float)) and not isinstance(leaf, bool)


def effects_in_common(
    runs: Sequence[Sequence[StateEffect]], given: Mapping[str, Any]
) -> tuple[EffectPrint, ...]:
    """Return the effects that each run had; `given` is what the crossing was given."""
    several = [[each for each in run if not each.what.startswith(LOG)] for run in runs]
    if not several or not all(several):
        return ()
    shapes = {tuple(sorted(each.what for each in run)) for run in several}
    if len(shapes) == 1 or len({len(run) for run in several}) == 1:
        ordered = [sorted(run, key=lambda each: (each.what, each.path)) for run in several]
        return tuple(_effect_print(each, given) for each in zip(*ordered, strict=True))
    # Some runs did more than others: what all did counts.
    shared = Counter((each.path, each.what) for each in several[0])
    for run in several[1:]:
        shared &= Counter((each.path, each.what) for each in run)
    columns: dict[tuple[str, str], list[list[StateEffect]]] = {}
    for run in several:
        for key in shared:
            found = [each for each in run if (each.path, each.what) == key][: shared[key]]
            columns.setdefault(key, []).append(found)
    return tuple(
        _effect_print(each, given)
        for runs_of_key in columns.values()
        for each in zip(*runs_of_key, strict=True)
    )


def _effect_print(several: Sequence[StateEffect], given: Mapping[str, Any]) -> EffectPrint:
    values = [msgspec.json.decode(each.value) for each in several]
    value = print_of(values)
    words = [set(words_in(each)) for each in several]
    return EffectPrint(
        path=text_print([each.path for each in several]),
        what=text_print([each.what for each in several]),
        value=value,
        carries=_carried(words, given),
        family=_family([each.path for each in several]),
        numbers=_carried_numbers([numbers_of(each) for each in values], _numbers_in(given)),
        amount=amount_of(values[0], value.varying())
        if any(map(_is_number, flatten(given).values()))
        else 0.0,
    )


def _carried(words: Sequence[set[str]], given: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the fields of an input that effects hold, if they hold all of it: less may only say whose row it is."""
    fields = {field: own for field, held in given.items() if (own := set(words_in(held)))}
    return tuple(fields) if all(own <= each for own in fields.values() for each in words) else ()


def _carried_numbers(several: Sequence[Mapping[str, float]], given: Mapping[str, float]) -> dict[str, str]:
    """Return where effects hold the numbers of an input in each run; nothing where they don't hold all of them."""
    found = {
        place: field
        for place, number in several[0].items()
        for field, wanted in given.items()
        if number == wanted and all(each.get(place) == number for each in several)
    }
    return found if set(found.values()) == set(given) else {}


def digests_of(root: str, files: Iterable[str]) -> dict[str, str]:
    """Return the SHA-256 of sources, by their paths; empty for one that is not there."""
    found: dict[str, str] = {}
    for each in files:
        try:
            with open(os.path.join(root, each), "rb") as file:
                found[each] = hashlib.sha256(file.read()).hexdigest()
        except OSError:
            found[each] = ""
    return found


def read_baseline(trace: Any) -> Baseline | None:
    """Read the baseline beside a trace file; None where there is none.

    Raises:
        StoreError: it can't be read, or is of a newer version.
    """
    path = (
        os.path.join(os.path.dirname(os.fsdecode(trace)), FILE)
        if isinstance(trace, (str, os.PathLike))
        else ""
    )
    if not path or not os.path.isfile(path):
        return None
    try:
        with open(path, "rb") as file:
            found = msgspec.json.decode(file.read(), type=Baseline)
    except (OSError, msgspec.MsgspecError) as error:
        raise StoreError(
            f"{path} can't be read ({error}); make the incident again with `autochron incident new --force`"
        ) from None
    if found.version > VERSION:
        raise StoreError(
            f"{path} was written by a newer autochron (version {found.version}); upgrade autochron"
        )
    return found


def has_baseline(trace: Any) -> bool:
    """Return whether there is a baseline beside a trace file."""
    return os.path.isfile(os.path.join(os.path.dirname(os.fsdecode(trace)), FILE))


def encode_baseline(baseline: Baseline) -> str:
    """Return the text of a baseline's file."""
    return msgspec.json.format(msgspec.json.encode(baseline, order="sorted"), indent=1).decode() + "\n"

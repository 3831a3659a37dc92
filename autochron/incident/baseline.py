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
from autochron.incident.prints import (
    ValuePrint,
    flatten,
    is_below,
    print_of,
    text_fits,
    text_print,
    words_of,
)
from autochron.model import StateEffect

FILE = "baseline.json"

VERSION = 1

_CLOSE = 0.01
"""By which part an amount may be another and still be the same harm: a cent more, or all in two pieces."""


class EffectPrint(Struct, frozen=True, kw_only=True):
    """One effect, as far as it was the same in each run."""

    path: str
    what: str
    value: ValuePrint
    carries: tuple[str, ...] = ()
    """Fields of the crossing's input whose words and numbers it holds: `cents`."""
    amount: float = 0.0
    """How much its numbers are, or change, in all; of those that are the same in each run."""

    def is_again(self, effect: StateEffect) -> bool:
        """Return whether an effect is this one once more."""
        return self.is_alike(effect) and not self.value.differences(msgspec.json.decode(effect.value))

    def is_alike(self, effect: StateEffect) -> bool:
        """Return whether an effect is of the same kind, in the same place."""
        return text_fits(self.path, effect.path) and text_fits(self.what, effect.what)

    def recurs_in(self, effects: Sequence[StateEffect], given: Mapping[str, Any]) -> bool:
        """Return whether some effects are this one, in whatever words.

        They are where one is it once more; where one holds all of the crossing's input that this one held, in another
        format, file or row; and where they come to about as much in the same place, in one piece or in several.
        """
        if any(self.is_again(each) for each in effects):
            return True
        wanted = {word for field in self.carries for word in words_in(given.get(field))}
        if wanted and any(wanted <= set(words_in(each)) for each in effects):
            return True
        alike = [each for each in effects if self.is_alike(each)]
        varying = self.value.varying()
        amount = sum(amount_of(msgspec.json.decode(each.value), varying) for each in alike)
        return self.amount > 0 and abs(amount - self.amount) <= _CLOSE * self.amount


class CrossingPrint(Struct, frozen=True, kw_only=True):
    """One live crossing, as far as it was the same in each run."""

    outcome: ValuePrint
    effects: tuple[EffectPrint, ...] = ()
    unlike_record: tuple[str, ...] = ()
    """Fields of the outcome that are the same in each run and not what was recorded: state is missing."""


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


def words_in(value: Any) -> list[str]:
    """Return the words and whole numbers in a value or an effect, in one form: 900.00 is 900, and PAY is pay."""
    if isinstance(value, StateEffect):
        text = f"{value.path} {value.what} {value.value.decode('utf-8', 'replace')}"
    else:
        text = msgspec.json.encode(value).decode()
    text = re.sub(r"(?<=\d)[,_](?=\d{3}\b)", "", text)
    text = re.sub(r"(\d)\.0+\b", r"\1", text)
    return [word.lower() for word in words_of(text, digits=True)]


def amount_of(value: Any, varying: Sequence[str] = ()) -> float:
    """Return how much the numbers in an effect's value are, or change."""
    if isinstance(value, dict) and {"before", "after"} <= value.keys():
        before, after = flatten(value["before"]), flatten(value["after"])
        paths = [path for path in before if _is_number(before[path]) and _is_number(after.get(path))]
        return float(
            sum(abs(after[path] - before[path]) for path in paths if not is_below(f"after.{path}", varying))
        )
    found = 0.0
    for path, leaf in flatten(value).items():
        if is_below(path, varying):
            continue
        if _is_number(leaf):
            found += abs(leaf)
        elif isinstance(leaf, str):
            found += sum(float(each) for each in re.findall(r"(?<![\w.:-])\d+(?:\.\d+)?(?![\w:-])", leaf))
    return found


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
        amount=amount_of(values[0], value.varying())
        if any(map(_is_number, flatten(given).values()))
        else 0.0,
    )


def _carried(words: Sequence[set[str]], given: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the fields of an input that effects hold, if they hold all of it: less may only say whose row it is."""
    fields = {field: own for field, held in given.items() if (own := set(words_in(held)))}
    return tuple(fields) if all(own <= each for own in fields.values() for each in words) else ()


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
        ) from error
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

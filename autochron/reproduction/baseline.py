"""The baseline of an incident: what unchanged code did in several runs, as fingerprints.

`incident new` runs the new test several times, each time in fresh state and with another hash seed, clock and random seed.
The baseline is what these runs have in common. A verdict needs it to know the incident's effects, and which fields vary. It
is stored beside the trace as fingerprints and sums, and holds no whole row. But the sum of an effect with one number is that
number, and short values can be guessed from their fingerprints (see `prints`).
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
from autochron.project import path_of
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
"""The relative tolerance within which two amounts count as the same harm."""


class EffectPrint(Struct, frozen=True, kw_only=True):
    """The fingerprint of one effect: what was the same in each run."""

    path: str
    what: str
    value: ValuePrint
    carries: tuple[str, ...] = ()
    """Fields of the crossing's input whose words and numbers the effect holds: `cents`."""
    family: str = ""
    """The path with each number replaced by 0. Files such as `order-1.json` and `order-2.json` share it."""
    numbers: dict[str, str] = {}
    """The fields of the input whose numbers the effect holds, by the places in its value, as `numbers_of` names these."""
    amount: float = 0.0
    """The sum of the effect's numbers, or of their changes, without those that vary between runs."""

    def is_exceeded_by(self, effects: Sequence[StateEffect]) -> bool:
        """Return whether effects of the same kind sum up to more than this one did."""
        varying = self.value.varying()
        of_kind = [msgspec.json.decode(effect.value) for effect in effects if self.is_of_kind(effect)]
        return self.amount > 0 and sum(amount_of(value, varying) for value in of_kind) > self.amount

    def matches(self, effect: StateEffect) -> bool:
        """Return whether an effect has this fingerprint."""
        fits = text_fits(self.path, effect.path) and text_fits(self.what, effect.what)
        return fits and not self.value.differences(msgspec.json.decode(effect.value))

    def is_of_kind(self, effect: StateEffect) -> bool:
        """Return whether an effect does the same kind of change to the same file, or to one of the same family."""
        has_path = text_fits(self.path, effect.path) or self.family == _family([effect.path])
        return has_path and text_fits(self.what, effect.what)

    def recurs_in(self, effects: Sequence[StateEffect], arguments: Mapping[str, Any]) -> bool:
        """Return whether some effects do the harm of this one again, exactly or in another form.

        They do in each of these cases:

        - One of them has this fingerprint, or writes the same value to a file of the same family.
        - One of them, or all of the same kind together, hold every word and number of the input that this effect held. The
          format, the file and the row may be others.
        - Those of the same kind hold the input's numbers that this effect held, or sum up to them; where the effect held
          none, their amounts sum up to about the same.

        Args:
            effects: the effects of a crossing in a replay.
            arguments: the crossing's recorded input.
        """
        if any(self.matches(effect) or self._is_numbered_copy(effect) for effect in effects):
            return True
        of_kind = [effect for effect in effects if self.is_of_kind(effect)]
        wanted = {word for field in self.carries for word in words_in(arguments.get(field))}
        combined = {word for effect in of_kind for word in words_in(effect)}
        if wanted and any(
            wanted <= words for words in (combined, *(set(words_in(effect)) for effect in effects))
        ):
            return True
        values = [msgspec.json.decode(effect.value) for effect in of_kind]
        if self.numbers:
            return self._holds_numbers([numbers_of(value) for value in values], _telling_numbers(arguments))
        varying = self.value.varying()
        amount = sum(amount_of(value, varying) for value in values)
        return self.amount > 0 and _is_close(amount, self.amount)

    def _is_numbered_copy(self, effect: StateEffect) -> bool:
        """Return whether an effect writes the same value to a file whose name may differ by its numbers."""
        value = msgspec.json.decode(effect.value)
        return value is not None and self.is_of_kind(effect) and not self.value.differences(value)

    def _holds_numbers(
        self, effects: Sequence[Mapping[str, float]], input_numbers: Mapping[str, float]
    ) -> bool:
        """Return whether effects hold each number that this effect took from the input.

        They hold a number if each of them has it, such as the number of an order, or if they sum up to it, such as an amount.
        """
        fields = dict.fromkeys(self.numbers.values())
        return all(
            any(
                _is_sum(
                    [numbers[place] for numbers in effects if place in numbers], input_numbers.get(field, 0.0)
                )
                for place, source in self.numbers.items()
                if source == field
            )
            for field in fields
        )


class CrossingPrint(Struct, frozen=True, kw_only=True):
    """The fingerprint of one live crossing: what was the same in each run."""

    outcome: ValuePrint
    effects: tuple[EffectPrint, ...] = ()
    unlike_record: tuple[str, ...] = ()
    """Fields of the outcome that were the same in each run but differ from the record: state is missing."""
    left_running: tuple[str, ...] = ()
    """Threads and tasks that were still running when the crossing had ended."""


class Baseline(Struct, frozen=True, kw_only=True):
    """The facts that several runs of unchanged code had in common; the content of `baseline.json`."""

    version: int = VERSION
    runs: int = 0
    crossings: dict[str, CrossingPrint] = {}
    outside: tuple[EffectPrint, ...] = ()
    """The program's effects outside of its live crossings."""
    sources: dict[str, str] = {}
    """SHA-256 of each of the project's modules that ran, by path relative to the rules' root."""
    files: dict[str, str] = {}
    """SHA-256 of each file that `incident new` wrote into the folder, by name."""
    settled: bool = False
    """Whether the incident is complete: its test failed as it should, or was not tried. An incomplete incident is replaced
    without `--force`."""
    snapshots: str | None = None
    """The folder with the contents of snapshots, relative to the incident's folder; None for the project's own."""
    swallowed: tuple[str, ...] = ()
    """Crashes that the program's own code caught in these runs, so that they are usual."""


def _is_sum(pieces: Sequence[float], wanted: float) -> bool:
    return bool(pieces) and (set(pieces) == {wanted} or _is_close(sum(pieces), wanted))


def _is_close(amount: float, wanted: float) -> bool:
    return abs(amount - wanted) <= _CLOSE * wanted


def _family(paths: Sequence[str]) -> str:
    return text_print([re.sub(r"\d+", "0", path) for path in paths])


def words_in(value: Any) -> list[str]:
    """Return the words and whole numbers in a value or an effect, normalised: 900.00 is 900, and PAY is pay.

    Where an effect changed a number, the difference is among them.
    """
    if isinstance(value, StateEffect):
        changed = " ".join(map(str, _changes_of_numbers(msgspec.json.decode(value.value)).values()))
        text = f"{value.path} {value.what} {value.value.decode('utf-8', 'replace')} {changed}"
    else:
        text = msgspec.json.encode(value).decode()
    text = re.sub(r"(?<=\d)[,_](?=\d{3}\b)", "", text)
    text = re.sub(r"(\d)\.0+\b", r"\1", text)
    return [word.lower() for word in words_of(text, digits=True)]


def amount_of(value: Any, varying: Sequence[str] = ()) -> float:
    """Return the sum of the numbers in an effect's value, or of their changes, without those below the `varying` paths."""
    return sum(number for place, number in numbers_of(value).items() if not is_below(place, varying))


def numbers_of(value: Any) -> dict[str, float]:
    """Return the absolute numbers in an effect's value by place, or their changes if the effect changed a value.

    A place is a dotted path. A number within a longer text has its index in the text behind the path: `line#0`.
    """
    if isinstance(value, dict) and {"before", "after"} <= value.keys():
        return _changes_of_numbers(value)
    result: dict[str, float] = {}
    for path, leaf in flatten(value).items():
        if _is_number(leaf):
            result[path] = float(abs(leaf))
        elif isinstance(leaf, str):
            numbers = _NUMBER.findall(leaf)
            is_number_alone = len(numbers) == 1 and numbers[0] == leaf.strip()
            result |= {
                path if is_number_alone else f"{path}#{index}": float(digits)
                for index, digits in enumerate(numbers)
            }
    return result


def _changes_of_numbers(value: Any) -> dict[str, float]:
    """Return the absolute changes of numbers by place; empty for an effect that does not change a value."""
    if not (isinstance(value, dict) and {"before", "after"} <= value.keys()):
        return {}
    before, after = flatten(value["before"]), flatten(value["after"])
    return {
        f"after.{path}": float(abs(after[path] - before[path]))
        for path in before
        if _is_number(before[path]) and _is_number(after.get(path))
    }


def _telling_numbers(arguments: Mapping[str, Any]) -> dict[str, float]:
    """Return the absolute numbers of an input by field, without those from -1 to 1, which occur everywhere."""
    return {
        path: float(abs(leaf))
        for path, leaf in flatten(arguments).items()
        if _is_number(leaf) and abs(leaf) > 1
    }


def is_opaque(effect: StateEffect) -> bool:
    """Return whether the effect holds only a digest of what was written."""
    value = msgspec.json.decode(effect.value)
    return isinstance(value, dict) and value.keys() == {"digest", "size"}


def _is_number(leaf: Any) -> bool:
    return isinstance(leaf, (int, float)) and not isinstance(leaf, bool)


def effects_in_common(
    runs: Sequence[Sequence[StateEffect]], arguments: Mapping[str, Any]
) -> tuple[EffectPrint, ...]:
    """Return the fingerprints of the effects that every run had.

    Args:
        runs: the effects of one crossing in each run.
        arguments: the crossing's input.
    """
    kept_runs = [[effect for effect in run if not effect.what.startswith(LOG)] for run in runs]
    if not kept_runs or not all(kept_runs):
        return ()
    shapes = {tuple(sorted(effect.what for effect in run)) for run in kept_runs}
    if len(shapes) == 1 or len({len(run) for run in kept_runs}) == 1:
        ordered = [sorted(run, key=lambda effect: (effect.what, effect.path)) for run in kept_runs]
        return tuple(_effect_print(column, arguments) for column in zip(*ordered, strict=True))
    # Some runs had more effects than others. Those that all runs had count.
    shared = Counter((effect.path, effect.what) for effect in kept_runs[0])
    for run in kept_runs[1:]:
        shared &= Counter((effect.path, effect.what) for effect in run)
    columns: dict[tuple[str, str], list[list[StateEffect]]] = {}
    for run in kept_runs:
        for key in shared:
            matches = [effect for effect in run if (effect.path, effect.what) == key][: shared[key]]
            columns.setdefault(key, []).append(matches)
    return tuple(
        _effect_print(column, arguments)
        for runs_of_key in columns.values()
        for column in zip(*runs_of_key, strict=True)
    )


def _effect_print(effects: Sequence[StateEffect], arguments: Mapping[str, Any]) -> EffectPrint:
    values = [msgspec.json.decode(effect.value) for effect in effects]
    value = print_of(values)
    words = [set(words_in(effect)) for effect in effects]
    return EffectPrint(
        path=text_print([effect.path for effect in effects]),
        what=text_print([effect.what for effect in effects]),
        value=value,
        carries=_carried_fields(words, values, arguments),
        family=_family([effect.path for effect in effects]),
        numbers=_carried_numbers(
            [numbers_of(effect_value) for effect_value in values], _telling_numbers(arguments)
        ),
        amount=amount_of(values[0], value.varying())
        if any(map(_is_number, flatten(arguments).values()))
        else 0.0,
    )


def _carried_fields(
    words: Sequence[set[str]], values: Sequence[Any], arguments: Mapping[str, Any]
) -> tuple[str, ...]:
    """Return the fields of an input that each effect holds; empty unless each effect holds all of them.

    An effect that holds a part of the input may do so only because it names whose row it is.
    """
    fields = {field: own_words for field, value in arguments.items() if (own_words := set(words_in(value)))}
    if any(_contradicts(value, arguments) for value in values):
        return ()
    return (
        tuple(fields)
        if all(own_words <= effect_words for own_words in fields.values() for effect_words in words)
        else ()
    )


def _contradicts(value: Any, arguments: Mapping[str, Any]) -> bool:
    """Return whether an effect has another number than the input under a field's own name.

    Words that it shares with the input by chance, such as the number of its row, say nothing then.
    """
    return any(
        _is_number(leaf) and _is_number(wanted := arguments.get(_name_of(path))) and leaf != wanted
        for path, leaf in flatten(value).items()
    )


def _name_of(place: str) -> str:
    """Return the last step of a dotted path: the name of the field."""
    return place.rpartition(".")[2]


def _carried_numbers(
    numbers_of_runs: Sequence[Mapping[str, float]], input_numbers: Mapping[str, float]
) -> dict[str, str]:
    """Return the places that hold the input's numbers in each run, with the input's fields; empty unless they hold all.

    A place of another name holds a field's number only where the effect has no place of the field's own name: the number of
    the second row is no order of two pieces.
    """
    first = numbers_of_runs[0]
    places = {
        place: field
        for place, number in first.items()
        for field, wanted in input_numbers.items()
        if number == wanted
        and all(numbers.get(place) == number for numbers in numbers_of_runs)
        and not (_name_of(place) != field and any(_name_of(other) == field for other in first))
    }
    return places if set(places.values()) == set(input_numbers) else {}


def digests_of(root: str, files: Iterable[str]) -> dict[str, str]:
    """Return the hexadecimal SHA-256 of each source file, by path; an empty string for a file that can't be read.

    Args:
        root: the folder that the paths are relative to.
        files: the paths.
    """
    digests: dict[str, str] = {}
    for path in files:
        try:
            with open(path_of(root, path), "rb") as source:
                digests[path] = hashlib.sha256(source.read()).hexdigest()
        except OSError:
            digests[path] = ""
    return digests


def read_baseline(trace: Any) -> Baseline | None:
    """Read the baseline beside a trace file.

    Args:
        trace: the path of a trace file. Anything else has no baseline.

    Returns:
        The baseline; None if there is none.

    Raises:
        StoreError: the baseline can't be read, or a newer version wrote it.
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
            baseline = msgspec.json.decode(file.read(), type=Baseline)
    except (OSError, msgspec.MsgspecError) as error:
        raise StoreError(
            f"{path} can't be read ({error}); make the incident again with `autochron incident new --force`"
        ) from None
    if baseline.version > VERSION:
        raise StoreError(
            f"{path} was written by a newer autochron (version {baseline.version}); upgrade autochron"
        )
    return baseline


def has_baseline(trace: Any) -> bool:
    """Return whether a baseline is beside a trace file."""
    return os.path.isfile(os.path.join(os.path.dirname(os.fsdecode(trace)), FILE))


def encode_baseline(baseline: Baseline) -> str:
    """Return the text of `baseline.json`."""
    return msgspec.json.format(msgspec.json.encode(baseline, order="sorted"), indent=1).decode() + "\n"

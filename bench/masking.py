"""What masking costs, and what it masks that is no secret.

Speed is that of `Redactor.mask` over whole bodies, on texts of one megabyte that are made here. Where a checkout of
tau-bench is named by TAU_BENCH, its 200 conversations are masked, too, and false masks are counted: nothing in them is
a secret. `python -m bench.masking CHECKOUT` prints that count only.
"""

from __future__ import annotations

import base64
import json
import os
import random
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from autochron.redaction.redactor import Redactor
from autochron.redaction.secret_patterns import MASK
from bench.measure import Case, Figure, Size, medians, turn_about

CHECKOUT = "TAU_BENCH"
"""The variable that names a checkout of sierra-research/tau-bench."""
CONVERSATIONS = os.path.join("historical_trajectories", "gpt-4o-airline.json")
FALSE_MASKS = 1.0
"""In 10,000 fields."""
_MEGABYTE = 1_000_000
_PROSE = """
the flight was delayed and I would like to change my reservation because of that could you please look for
another one which leaves in the afternoon basic economy cannot be modified but travel insurance covers it if
"""
_WORDS = _PROSE.split()


def texts(size: int) -> dict[str, str]:
    """Make texts of some kinds, of about that many bytes each; none has a secret in it."""
    rng = random.Random(18)
    blob = rng.randbytes(size * 3 // 4)
    rows = [
        {
            "id": rng.randrange(10**9),
            "name": rng.choice(_WORDS),
            "digest": f"{rng.getrandbits(128):032x}",
            "tags": [rng.choice(_WORDS)] * 3,
            "at": "2024-05-15T15:00:00",
        }
        for _ in range(size // 150)
    ]
    return {
        "prose": json.dumps({"text": " ".join(rng.choice(_WORDS) for _ in range(size // 5))}),
        "JSON": json.dumps(rows),
        "base64": json.dumps({"data": base64.b64encode(blob).decode()}),
        "base64 for URLs": json.dumps({"data": base64.urlsafe_b64encode(blob).decode()}),
    }


def conversations(checkout: str) -> list[Any]:
    """Read the 200 conversations of a checkout."""
    with open(os.path.join(checkout, CONVERSATIONS), encoding="utf-8") as file:
        found: list[Any] = json.load(file)
    return found


def false_masks(bodies: Sequence[Any]) -> tuple[int, int]:
    """Count the fields of bodies that hold no secret, and those of them that are masked; JSON in a string has fields, too."""
    fields = masked = 0
    for body in bodies:
        after = json.loads(Redactor().mask(json.dumps(body).encode()))
        fields += _fields(body)
        masked += _differing(body, after)
    return fields, masked


def _inner(value: object) -> object:
    """Return what JSON text in a string holds, and any other value as it is."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _fields(value: object) -> int:
    value = _inner(value)
    if isinstance(value, dict):
        return sum(map(_fields, value.values()))
    if isinstance(value, list):
        return sum(map(_fields, value))
    return 1


def _differing(before: object, after: object) -> int:
    before, after = _inner(before), _inner(after)
    if isinstance(before, dict) and isinstance(after, dict) and before.keys() == after.keys():
        return sum(_differing(before[key], after[key]) for key in before)
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        return sum(map(_differing, before, after))
    return int(before != after)


def run(size: Size) -> Iterable[Figure]:
    """Measure the speed on each kind of text, and on the conversations where there is a checkout."""
    bodies = {
        name: [text.encode()]
        for name, text in texts(_MEGABYTE if size.rounds > 1 else _MEGABYTE // 100).items()
    }
    checkout = os.environ.get(CHECKOUT)
    if checkout:
        found = conversations(checkout)
        bodies["200 conversations"] = [json.dumps(each).encode() for each in found]
        fields, masked = false_masks(found)
        yield Figure(
            benchmark="masking",
            name="false masks in 10,000 fields of 200 conversations",
            value=masked / fields * 10_000,
            unit="fields",
            against=f"{masked} of {fields:,} fields; none is a secret",
            target=FALSE_MASKS,
        )
    cases: dict[str, Case] = {name: _masking(each) for name, each in bodies.items()}
    middle = medians(turn_about(cases, max(1, size.rounds // 4)))
    for name, each in bodies.items():
        total = sum(map(len, each))
        yield Figure(
            benchmark="masking",
            name=f"masking {name}",
            value=total / middle[name] / _MEGABYTE,
            unit="MB/s",
            against=f"{len(each):,} bodies, {total / _MEGABYTE:.2f} MB, {middle[name] / len(each) * 1e6:,.0f} µs a body",
            samples={name: middle[name]},
        )


def _masking(bodies: Sequence[bytes]) -> Callable[[], object]:
    def mask_all() -> None:
        redactor = Redactor()
        for body in bodies:
            redactor.mask(body)

    return mask_all


def main(arguments: Sequence[str]) -> int:
    """Count the false masks of a checkout; 1 where there are too many, 2 where none is named."""
    checkout = arguments[0] if arguments else os.environ.get(CHECKOUT)
    if not checkout or not os.path.isfile(os.path.join(checkout, CONVERSATIONS)):
        sys.stderr.write(
            f"bench.masking: {checkout or 'no checkout'} has no {CONVERSATIONS}; name a checkout of tau-bench, "
            f"as an argument or in {CHECKOUT} (no-checkout)\n"
        )
        return 2
    fields, masked = false_masks(conversations(checkout))
    rate = masked / fields * 10_000
    print(f"{fields:,} fields, {masked} false masks ({MASK}), {rate:.2f} in 10,000")
    return int(rate >= FALSE_MASKS)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

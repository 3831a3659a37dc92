"""The figures of docs/security.md: what of planted secrets is left in clear, and what a `kill -9` takes.

`python -m tests.security.figures` prints them; with `--write` they go into the page, between its marks. The secrets are
those of the tests (`secret_shapes.py`, `secret_texts.py`), made with seeds that stay. Of killed programs see `kills.py`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import msgspec
import tomli

from autochron.redaction.redactor import Redactor
from autochron.redaction.secret_patterns import VendorPattern, load_patterns
from autochron.rules.loading import load_rules
from tests.security import kills
from tests.security.secret_shapes import BY_VENDOR, DETECT_SECRETS, GITLEAKS, make
from tests.security.secret_texts import (
    ENCODED,
    FRAMES_OF_ENCODED,
    FRAMES_OF_FORMATS,
    FRAMES_OF_TEXTS,
    NUMBER,
    PATTERNS,
    RULED,
    SECRET_NAMES,
    SHORT_NAMES,
    SIZES,
    STREAMED,
    TEXTS,
    VALUE,
    beside_vendors,
    cut,
    encodings,
    left,
)

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "security.md"
COMMAND = "python -m tests.security.figures --write"
SECRETS = f"<!-- the secrets: {COMMAND} -->", "<!-- the end of the secrets -->"
KILLS = f"<!-- the kills: {COMMAND} -->", "<!-- the end of the kills -->"


class Kept(NamedTuple):
    """What is kept of one sample.

    Attributes:
        secrets: the parts of it that nobody may read.
        texts: what is kept, one text for each way in which it was masked.
    """

    secrets: tuple[str, ...]
    texts: tuple[str, ...]


class Family(NamedTuple):
    """A row of the table of secrets."""

    by: str
    what: str
    files: tuple[str, ...]
    kept: Iterable[Kept]


# --- secrets ---


def of_text(text: str, secrets: Sequence[str] = (VALUE,), redactor: Redactor | None = None) -> Kept:
    """Mask a text, alone and inside of a body."""
    redactor = redactor or Redactor()
    inside = redactor.mask(msgspec.json.encode({"a": [text], "n": 1}))
    return Kept(tuple(secrets), (redactor.mask_text(text), json.loads(inside)["a"][0]))


def of_value(value: object, secret: str = VALUE, redactor: Redactor | None = None) -> Kept:
    """Mask a body."""
    masked = (redactor or Redactor()).mask(msgspec.json.encode(value))
    return Kept((secret,), (json.dumps(json.loads(masked), ensure_ascii=False),))


def of_names() -> Iterator[Kept]:
    """Plant a value under each name: in objects, at any depth, in sequences and in an assignment."""
    for name in (*SECRET_NAMES, *SHORT_NAMES):
        for value in (
            {name: VALUE},
            {"a": [{name: {"inner": VALUE}}]},
            {"text": json.dumps({name: VALUE})},
            [[name, VALUE]],
            [name, VALUE],
        ):
            yield of_value(value)
        yield of_text(f"{name}={VALUE}")


def of_formats(table: Mapping[str, Sequence[str]]) -> Iterator[Kept]:
    """Plant a sample of each shape wherever it can stand."""
    for shape in (shape for shapes in table.values() for shape in shapes):
        sample = make(shape, random.Random(shape))
        for frame in FRAMES_OF_FORMATS:
            yield of_text(frame.replace("{}", sample.text), sample.secrets)


def of_vendors() -> Iterator[Kept]:
    """Plant a sample of each shape of a vendor beside its name."""
    for rule, vendor, shape in BY_VENDOR:
        for sample in beside_vendors(rule, vendor, shape):
            yield of_text(sample.text, sample.secrets)


def of_contexts() -> Iterator[Kept]:
    """Plant a value in each text."""
    for text in TEXTS:
        for frame in FRAMES_OF_TEXTS:
            yield of_text(frame.replace("{}", text.replace("@", VALUE)))


def of_encodings() -> Iterator[Kept]:
    """Plant a secret in each encoding; the encoded text is one, too."""
    for text in ENCODED:
        for encoded in encodings(text).values():
            for frame in FRAMES_OF_ENCODED:
                yield of_text(frame.replace("{}", encoded), (VALUE, *encoded.split("\n")))


def of_pieces() -> Iterator[Kept]:
    """Cut texts into the items of a stream: as a list that is there, and as one that comes."""
    for text in STREAMED:
        for size in SIZES:
            items = [msgspec.json.encode({"delta": part}) for part in cut(text.replace("@", VALUE), size)]
            stream = Redactor().begin_stream()
            come = [body for item in items for body in stream.push(item)] + stream.flush()
            there = [body for body, _ in Redactor().mask_items(items)]
            yield Kept((VALUE,), tuple(_said(each) for each in (come, there)))


def _said(items: Iterable[bytes]) -> str:
    return "".join(json.loads(body)["delta"] for body in items)


def of_rules() -> Iterator[Kept]:
    """Plant a number that only the rules call a secret, and values under names that they do."""
    for pattern in PATTERNS:
        redactor = _ruled(f'patterns = ["{pattern}"]')
        for value in RULED:
            yield of_value(value, NUMBER, redactor)
    redactor = _ruled('names = ["account_number", "iban"]')
    for name in ("myAccountNumber", "account_number", "iban"):
        yield of_value({name: VALUE}, redactor=redactor)
        yield of_text(f"{name}: {VALUE}", redactor=redactor)


def _ruled(text: str) -> Redactor:
    with TemporaryDirectory() as folder:
        file = Path(folder, "autochron.toml")
        file.write_text(f"version = 1\npacks = []\n\n[redact]\n{text}\n", encoding="utf-8")
        return Redactor.of(load_rules(file))


def families() -> list[Family]:
    """Return the rows: how a secret is known, what of it, and which files test that."""
    formats = sum(not isinstance(each, VendorPattern) for each in load_patterns())
    table = tomli.loads((ROOT / "autochron" / "redaction" / "secrets.toml").read_text("utf-8"))
    shapes = [*table["vendor"].values(), *table["short-vendor"].values()]
    vendors = {word for words in shapes for word in words.split()}
    return [
        Family(
            "**the name of a field**",
            "`password`, `api_key`, `DB_PASS`, `pin`, `otp`, `cvv` and the like, in JSON, arguments, headers, assignments, "
            "side by side in sequences",
            ("tests/security/test_secret_names.py", "tests/envelope/test_redaction.py"),
            of_names(),
        ),
        Family(
            "**its format**",
            f"{formats} formats: those of gitleaks' rules that mean nothing else",
            ("tests/security/test_secret_formats.py",),
            of_formats(GITLEAKS),
        ),
        Family("", "and those of detect-secrets'", (), of_formats(DETECT_SECRETS)),
        Family(
            "**a vendor's name beside it**",
            f"{len(vendors)} vendors whose secrets look like any other text",
            ("tests/security/test_secret_vendors.py",),
            of_vendors(),
        ),
        Family(
            "**what stands around it**",
            "YAML, INI, XML, netrc, pgpass, command lines, SQL, `Authorization` of any scheme, sign-in flows",
            ("tests/security/test_secret_contexts.py",),
            of_contexts(),
        ),
        Family(
            "**what it is encoded in**",
            "base64, hex, gzip, zlib and URL encoding, one level deep: the whole encoded text is masked",
            ("tests/security/test_secret_encodings.py",),
            of_encodings(),
        ),
        Family(
            "**pieces**",
            "over several items of a stream: an item waits until the next blank, the end of the stream or of the run",
            ("tests/security/test_secret_streams.py",),
            of_pieces(),
        ),
        Family(
            "**your rules**",
            "`[redact] patterns` and `names`",
            ("tests/security/test_secret_rules.py",),
            of_rules(),
        ),
    ]


def count(kept: Iterable[Kept]) -> tuple[int, list[Kept]]:
    """Return how many samples there are, and those of which a part of more than five characters is left."""
    samples = list(kept)
    return len(samples), [each for each in samples if any(left(each.secrets, text) for text in each.texts)]


@cache
def counted() -> list[tuple[Family, int, list[Kept]]]:
    """Count each family."""
    return [(family, *count(family.kept)) for family in families()]


def secrets() -> str:
    """Write the table."""
    lines = ["| by | what | planted | left in clear | tests |", "|---|---|---:|---:|---|"]
    for family, planted, leaked in counted():
        files = ", ".join(f"`{each}`" for each in family.files)
        lines.append(f"| {family.by} | {family.what} | {planted:,} | {len(leaked):,} | {files} |")
    return "\n".join(lines)


# --- kills ---


def killed(found: Sequence[kills.Killed], loads: Sequence[float]) -> str:
    """Say what kills left, and at which load of the machine."""
    load = sum(loads) / len(loads)
    gaps = sum(not each.whole for each in found)
    places = {
        "With a processor free": [each for each in found if not each.busy],
        "With one or two other processes that did nothing but compute": [each for each in found if each.busy],
    }
    told = f"  {len(found):,} programs were killed, on {os.cpu_count()} cores with a load of {load:.1f} in the mean.\n"
    told += f"  {gaps:,} traces had a gap."
    return "\n".join([told, *(_safe(where, those) for where, those in places.items() if those)])


def _safe(where: str, found: Sequence[kills.Killed]) -> str:
    ended, kept = sum(each.ended for each in found), sum(each.kept for each in found)
    waited = sorted(each.oldest * 1000 for each in found)
    median, most, nearly, slowest = (
        waited[min(len(waited) * percent // 100, len(waited) - 1)] for percent in (50, 90, 99, 100)
    )
    return (
        f"  {where}, {kept:,} of {ended:,} crossings that had ended {kills.PROMISED * 1000:.0f} ms before\n"
        f"  were there. They were safe {median:.0f} ms (median), {most:.0f} ms (90 %), {nearly:.0f} ms (99 %) and\n"
        f"  {slowest:.0f} ms (the slowest) after their end."
    )


def kill(times: int, seed: int) -> str:
    """Kill so many programs."""
    found, loads = [], []
    for each in kills.kill_often(times, seed):
        found.append(each)
        loads.append(os.getloadavg()[0])
    return killed(found, loads)


# --- the page ---


def put(page: str, marks: tuple[str, str], text: str) -> str:
    """Return a page with a text between its marks."""
    begin, end = map(re.escape, marks)
    pattern = re.compile(rf"({begin}\n).*?(\n *{end})", re.DOTALL)
    if len(pattern.findall(page)) != 1:
        raise SystemExit(f"docs/security.md has no line {marks[0]!r}, or none {marks[1]!r} after it")
    return pattern.sub(lambda match: f"{match[1]}{text}{match[2]}", page)


def with_secrets(page: str) -> str:
    """Return a page with the table of secrets as it is now."""
    return put(page, SECRETS, secrets())


def main() -> None:
    """Print the figures, or write them into the page."""
    parser = argparse.ArgumentParser(prog="python -m tests.security.figures", description=__doc__)
    parser.add_argument(
        "--kills", type=int, default=500, help="kill so many programs; 0 leaves that part as it is"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the kills")
    parser.add_argument("--write", action="store_true", help="write the figures into docs/security.md")
    given = parser.parse_args()
    page = with_secrets(PAGE.read_text("utf-8"))
    told = [secrets()]
    if given.kills:
        told.append(kill(given.kills, given.seed))
        page = put(page, KILLS, told[-1])
    if given.write:
        PAGE.write_text(page, "utf-8")
    else:
        sys.stdout.write("\n\n".join(told) + "\n")


if __name__ == "__main__":
    main()

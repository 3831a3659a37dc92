"""The figures of docs/security.md: how many planted secrets are left in clear, and what a `kill -9` loses.

`python -m tests.security.figures` prints them. With `--write` it writes them into the page, between its marks. The secrets
are those of the tests (`secret_shapes.py`, `secret_texts.py`), made with fixed seeds. `kills.py` kills the programs.
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
    """One sample after masking.

    Attributes:
        secrets: the secret parts of the sample.
        texts: the masked sample, one text for each way in which it was masked.
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
    """Mask a text, alone and inside a body."""
    redactor = redactor or Redactor()
    inside = redactor.mask(msgspec.json.encode({"a": [text], "n": 1}))
    return Kept(tuple(secrets), (redactor.mask_text(text), json.loads(inside)["a"][0]))


def of_value(value: object, secret: str = VALUE, redactor: Redactor | None = None) -> Kept:
    """Mask a value in a JSON body."""
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
    """Plant a sample of each shape in each surrounding text."""
    for shape in (shape for shapes in table.values() for shape in shapes):
        sample = make(shape, random.Random(shape))
        for frame in FRAMES_OF_FORMATS:
            yield of_text(frame.replace("{}", sample.text), sample.secrets)


def of_vendors() -> Iterator[Kept]:
    """Plant a sample of each vendor's shape beside the vendor's name."""
    for rule, vendor, shape in BY_VENDOR:
        for sample in beside_vendors(rule, vendor, shape):
            yield of_text(sample.text, sample.secrets)


def of_contexts() -> Iterator[Kept]:
    """Plant a value in each text."""
    for text in TEXTS:
        for frame in FRAMES_OF_TEXTS:
            yield of_text(frame.replace("{}", text.replace("@", VALUE)))


def of_encodings() -> Iterator[Kept]:
    """Plant a secret in each encoding. The encoded text counts as a secret too."""
    for text in ENCODED:
        for encoded in encodings(text).values():
            for frame in FRAMES_OF_ENCODED:
                yield of_text(frame.replace("{}", encoded), (VALUE, *encoded.split("\n")))


def of_pieces() -> Iterator[Kept]:
    """Cut texts into items of a stream, and mask them both as a complete list and as they arrive."""
    for text in STREAMED:
        for size in SIZES:
            items = [msgspec.json.encode({"delta": part}) for part in cut(text.replace("@", VALUE), size)]
            stream = Redactor().begin_stream()
            streamed = [body for item in items for body in stream.push(item)] + stream.flush()
            listed = [body for body, _ in Redactor().mask_items(items)]
            yield Kept((VALUE,), tuple(_joined_deltas(bodies) for bodies in (streamed, listed)))


def _joined_deltas(items: Iterable[bytes]) -> str:
    return "".join(json.loads(body)["delta"] for body in items)


def of_rules() -> Iterator[Kept]:
    """Plant a number that matches only a pattern of the rules, and values under names from the rules."""
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
    """Return the rows: how a secret is recognised, examples, and the files that test it."""
    formats = sum(not isinstance(pattern, VendorPattern) for pattern in load_patterns())
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


def count(masked_samples: Iterable[Kept]) -> tuple[int, list[Kept]]:
    """Return the number of samples, and those with a secret part of more than five characters left."""
    samples = list(masked_samples)
    return len(samples), [
        sample for sample in samples if any(left(sample.secrets, text) for text in sample.texts)
    ]


@cache
def counted() -> list[tuple[Family, int, list[Kept]]]:
    """Return each family with its number of samples and its leaks."""
    return [(family, *count(family.kept)) for family in families()]


def secrets() -> str:
    """Return the table of secrets as Markdown."""
    lines = ["| by | what | planted | left in clear | tests |", "|---|---|---:|---:|---|"]
    for family, planted, leaked in counted():
        files = ", ".join(f"`{file}`" for file in family.files)
        lines.append(f"| {family.by} | {family.what} | {planted:,} | {len(leaked):,} | {files} |")
    return "\n".join(lines)


# --- kills ---


def killed(results: Sequence[kills.Killed], loads: Sequence[float]) -> str:
    """Return the text about the kills: how many traces had a gap, and at which load of the machine."""
    load = sum(loads) / len(loads)
    gaps = sum(not result.whole for result in results)
    places = {
        "With a processor free": [result for result in results if not result.busy],
        "With one or two other processes that did nothing but compute": [
            result for result in results if result.busy
        ],
    }
    text = f"  {len(results):,} programs were killed, on {os.cpu_count()} cores with a load of {load:.1f} in the mean.\n"
    text += f"  {gaps:,} traces had a gap."
    return "\n".join([text, *(_safe(where, group) for where, group in places.items() if group)])


def _safe(where: str, results: Sequence[kills.Killed]) -> str:
    ended, stored = sum(result.ended for result in results), sum(result.kept for result in results)
    waited = sorted(result.oldest * 1000 for result in results)
    median, most, nearly, slowest = (
        waited[min(len(waited) * percent // 100, len(waited) - 1)] for percent in (50, 90, 99, 100)
    )
    return (
        f"  {where}, {stored:,} of {ended:,} crossings that had ended {kills.PROMISED * 1000:.0f} ms before\n"
        f"  were there. They were safe {median:.0f} ms (median), {most:.0f} ms (90 %), {nearly:.0f} ms (99 %) and\n"
        f"  {slowest:.0f} ms (the slowest) after their end."
    )


def kill(times: int, seed: int) -> str:
    """Kill `times` programs, and return the text about them."""
    results, loads = [], []
    for result in kills.kill_often(times, seed):
        results.append(result)
        loads.append(os.getloadavg()[0])
    return killed(results, loads)


# --- the page ---


def put(page: str, marks: tuple[str, str], text: str) -> str:
    """Return the page with `text` between its marks."""
    begin, end = map(re.escape, marks)
    pattern = re.compile(rf"({begin}\n).*?(\n *{end})", re.DOTALL)
    if len(pattern.findall(page)) != 1:
        raise SystemExit(f"docs/security.md has no line {marks[0]!r}, or none {marks[1]!r} after it")
    return pattern.sub(lambda match: f"{match[1]}{text}{match[2]}", page)


def with_secrets(page: str) -> str:
    """Return the page with the current table of secrets."""
    return put(page, SECRETS, secrets())


def main() -> None:
    """Print the figures, or write them into the page."""
    parser = argparse.ArgumentParser(prog="python -m tests.security.figures", description=__doc__)
    parser.add_argument(
        "--kills", type=int, default=500, help="kill so many programs; 0 leaves that part as it is"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the kills")
    parser.add_argument("--write", action="store_true", help="write the figures into docs/security.md")
    options = parser.parse_args()
    page = with_secrets(PAGE.read_text("utf-8"))
    sections = [secrets()]
    if options.kills:
        sections.append(kill(options.kills, options.seed))
        page = put(page, KILLS, sections[-1])
    if options.write:
        PAGE.write_text(page, "utf-8")
    else:
        sys.stdout.write("\n\n".join(sections) + "\n")


if __name__ == "__main__":
    main()

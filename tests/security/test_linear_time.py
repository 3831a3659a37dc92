"""Masking takes time linear in its input: texts built to provoke backtracking are masked within a CPU-time budget.

The masking runs in a process of its own, whose kernel timer ends it by a signal when one format exceeds the budget.
A linear format takes a fiftieth of it.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.cli.processes import ROOT

CHILD = """
import random, signal, sys
from autochron.redaction.secret_patterns import load_patterns
from autochron.redaction.redactor import Redactor

SIZE = int(sys.argv[2])
SECONDS = 2


def repeat(unit):
    return (unit * (SIZE // len(unit) + 1))[:SIZE]


def texts(pattern):
    example = pattern.example
    for needle in dict.fromkeys((pattern.needles[0] or "jira", pattern.needles[-1] or "JIRA_KEY = ")):
        yield from (repeat(needle), repeat(needle + "a"), repeat(needle + "-"), repeat(needle + "1 "), repeat(needle + "\\n"))
        for letter in "aA1-_./= :":
            yield needle + repeat(letter) + "!"
    yield repeat(example)
    for part in (len(example) // 2, len(example) - 1, len(example) - 5):
        yield repeat(example[:part])
        yield repeat(example[:part] + " ")
        yield example[:part] + repeat("a0") + "!"
        yield example[:part] + repeat("-a0") + "!"


def contexts():
    from tests.security.secret_texts import ATOMS

    redactor = Redactor()
    for seed in range(24):
        chance = random.Random(seed)
        unit = "".join(chance.choice(ATOMS) for _ in range(chance.randint(1, 4)))
        text = chance.choice(["", "password='abcd' ", "curl -u a:bcdef "]) + repeat(unit)
        print(repr(unit), flush=True)
        signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
        redactor.mask_text(text)
        redactor.mask(text.encode())
        redactor.mask(b'["' + text.encode("unicode_escape").replace(b'"', b"'") + b'"]')
        redactor.mask_url(text)


if sys.argv[1] == "contexts":
    contexts()
for pattern in load_patterns() if sys.argv[1] != "contexts" else ():
    print(pattern.name, flush=True)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    if sys.argv[1] == "formats":
        for text in texts(pattern):
            pattern.near(text)
            pattern.mask(text)
    else:
        Redactor().mask_text(repeat(pattern.needles[0] or "jira"))
        Redactor().mask_text(repeat(pattern.example[:-1]))
        Redactor().mask(b'["' + repeat(pattern.example).encode("unicode_escape").replace(b'"', b"'") + b'"]')
print("done", flush=True)
"""


@pytest.mark.thorough
@pytest.mark.parametrize("size", [8_000, pytest.param(100_000, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("part", ["formats", "texts", "contexts"])
def test_masking_takes_time_linear_in_its_input(part: str, size: int) -> None:
    words = [sys.executable, "-c", CHILD, part, str(size)]
    result = subprocess.run(words, capture_output=True, text=True, check=False, cwd=ROOT)
    assert result.stderr == ""
    assert (
        result.stdout.split()[-1] == "done"
    )  # otherwise the last line names the text or format that took too long

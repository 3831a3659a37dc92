"""Secrets that a project defines itself, with `[redact]` in its rule file."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from autochron.errors import RuleError
from autochron.redaction.redactor import Redactor
from autochron.rules.loading import load_rules
from tests.security.secret_texts import NUMBER, PATTERNS, RULED


def _rules(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "autochron.toml"
    file.write_text(f"version = 1\npacks = []\n\n[redact]\n{text}\n")
    return file


def _redactor(tmp_path: Path, text: str) -> Redactor:
    return Redactor.of(load_rules(_rules(tmp_path, text)))


@pytest.mark.parametrize("value", RULED)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_text_that_matches_a_pattern_is_masked(tmp_path: Path, value: object, pattern: str) -> None:
    redactor = _redactor(tmp_path, f'patterns = ["{pattern}"]')
    for body in (msgspec.json.encode(value), json.dumps(value).encode()):
        masked = redactor.mask(body)
        assert NUMBER not in json.dumps(json.loads(masked))
        assert b"[masked]" in masked
        assert redactor.mask(masked) == masked
        assert NUMBER.encode() in Redactor().mask(body)


def test_only_the_group_named_secret_of_a_match_is_masked(tmp_path: Path) -> None:
    redactor = _redactor(tmp_path, 'patterns = ["customer (?P<secret>[0-9]{6}) of"]')
    assert redactor.mask_text("customer 123456 of 9") == "customer [masked] of 9"


def test_a_name_matches_whole_words_at_the_end_of_a_field_name(tmp_path: Path) -> None:
    redactor = _redactor(tmp_path, 'names = ["account_number", "iban"]')
    body = b'{"myAccountNumber":"1","accountNumbers":"2","iban":"3","ibanity":"4"}'
    assert (
        redactor.mask(body)
        == b'{"myAccountNumber":"[masked]","accountNumbers":"2","iban":"[masked]","ibanity":"4"}'
    )
    assert redactor.mask_text("account_number: 7x") == "account_number: [masked]"


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("a(b", "is no regular expression"),
        ("x*", "fits the empty text"),
        ("(?:abc)?", "fits the empty text"),
        (".+", "fits ordinary text"),
        ("[a-z]{3}", "fits ordinary text"),
        ("(a+)+b", "repeats something without a bound"),
        ("(?:KEY-a|KEY-b)*Z", "repeats something without a bound"),
        ("K(?:ab|cd)+", "in several ways"),
        ("[A-Z]+@X", "repeats something without a bound"),
        ("Q[a-z]*+@", "repeats something without a bound"),
        (r"(?P<a>Q[0-9])-(?P=a)", "refers back"),
        ("Z(?=.*Q)", "repeats something without a bound"),
        ("Z(?:a{0,60}b{0,60}){4}Q", "in more than 4096 ways"),
        ("(?<=a+)Q", "is no regular expression"),
    ],
)
def test_a_pattern_that_cannot_be_used_is_refused(tmp_path: Path, pattern: str, reason: str) -> None:
    with pytest.raises(RuleError) as caught:
        load_rules(_rules(tmp_path, f"patterns = [\n  'ACME-[0-9]{{8}}',\n  '{pattern}',\n]"))
    message = str(caught.value)
    assert message.startswith(f"autochron.toml:7: `patterns` has `{pattern}`, which")
    assert reason in message
    assert message.endswith("(bad-rule)")
    assert "\n" not in message


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('pattern = ["x"]', "[redact] has no key `pattern`; nearest is `patterns`"),
        ('patterns = "x"', "`patterns` must be an array of strings, and is a string"),
        ("names = [3]", "`names` must hold strings only, and holds an integer"),
        ('names = [""]', "`names` has ``, which is no name"),
        ('names = ["a:b"]', "`names` has `a:b`, which is no name"),
    ],
)
def test_a_malformed_redact_table_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(RuleError) as caught:
        load_rules(_rules(tmp_path, text))
    assert "autochron.toml:5: " in str(caught.value)
    assert reason in str(caught.value)


def test_redaction_rules_change_the_digest_of_the_rules(tmp_path: Path) -> None:
    texts = ["", 'patterns = ["ACME-[0-9]{8}"]', 'names = ["iban"]', "patterns = []"]
    digests = [load_rules(_rules(tmp_path, text)).digest for text in texts]
    assert len(set(digests)) == 3
    assert digests[0] == digests[3]


PROGRAM = """
import autochron

@autochron.boundary("find", kind="tool")
def find(text):
    return {"found": text, "accountRef": "r-1"}

find("NUMBER and more")
print("it was NUMBER")
"""


def test_a_run_stores_nothing_that_the_rules_call_a_secret(tmp_path: Path) -> None:
    _rules(tmp_path, 'patterns = ["ACME-[0-9]{8}"]\nnames = ["account_ref"]')
    (tmp_path / "agent.py").write_text(PROGRAM.replace("NUMBER", NUMBER))
    run = [sys.executable, "-m", "autochron"]
    recorded = subprocess.run(
        [*run, "run", "agent.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert recorded.returncode == 0, recorded.stderr
    assert NUMBER in recorded.stdout
    assert NUMBER not in recorded.stderr
    for file in tmp_path.rglob(".autochron/*"):
        if file.is_file():
            content = file.read_bytes()
            assert NUMBER.encode() not in content
            assert b"r-1" not in content
    with sqlite3.connect(next(tmp_path.rglob("traces.db"))) as store:
        assert store.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] > 0
    shown = subprocess.run(
        [*run, "traces", "show", "last"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert NUMBER not in shown.stdout
    assert "[masked]" in shown.stdout
    replayed = subprocess.run(
        [*run, "replay", "last"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert replayed.returncode == 0, replayed.stdout + replayed.stderr

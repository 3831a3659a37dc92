"""Recognised secrets are masked before anything is written, with and without the quick pre-check."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import msgspec
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from autochron.redaction.redactor import Redactor
from autochron.redaction.secret_names import SecretNames
from tests.security.secret_texts import TEXTS, VALUE

PROGRAM = """
import autochron

@autochron.boundary("read", kind="tool")
def read(command):
    return {"text": SAID}

found = read(COMMAND)
print(found["text"])
"""


def test_a_run_stores_no_secret_that_its_tools_return(tmp_path: Path) -> None:
    contents = "\n".join(text.replace("@", VALUE) for text in TEXTS)
    command = ["curl", "-u", f"bob:{VALUE}", "https://example.invalid"]
    (tmp_path / "autochron.toml").write_text("version = 1\npacks = []\n")
    (tmp_path / "agent.py").write_text(
        PROGRAM.replace("SAID", repr(contents)).replace("COMMAND", repr(command))
    )
    run = [sys.executable, "-m", "autochron"]
    recorded = subprocess.run(
        [*run, "run", "agent.py", "--token", VALUE], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert recorded.returncode == 0, recorded.stderr
    assert recorded.stdout == f"{contents}\n".replace("\r", "")
    assert VALUE not in recorded.stderr
    for arguments in (["show", "last", "--full"], ["export", "last", "trace.jsonl"]):
        printed = subprocess.run(
            [*run, "traces", *arguments], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        assert VALUE not in printed.stdout
    files = [file for file in tmp_path.rglob("*") if file.is_file() and file.name != "agent.py"]
    assert [file.name for file in files if VALUE.encode() in file.read_bytes()] == []
    assert b"[masked]" in (tmp_path / "trace.jsonl").read_bytes()


_FRAGMENTS = [
    *(
        "password",
        "token",
        "pin",
        "pass",
        "api key",
        "X_TOKEN",
        "code",
        "DB_PASS",
        ": ",
        ":",
        "=",
        " = ",
        "\n",
        "\n  ",
        "- ",
    ),
    *(
        "abc1",
        "'abc1'",
        '"abc1"',
        " ",
        "<",
        ">",
        "</",
        "<password>",
        "curl -u ",
        "a:b1",
        " -p",
        "mysql",
        "--password ",
        " is ",
    ),
    *(
        "INSERT INTO t (password) VALUES ('a1')",
        "IDENTIFIED BY 'x'",
        "machine h password z",
        ":5432:a:b:c1",
        "?code=a&state=b",
    ),
    *(
        "\\",
        "é",
        "\t",
        ",",
        "[",
        "]",
        "(",
        "set ",
        "|",
        "%70ass%3Dabc",
        "cGFzc3dvcmQ9aHVudGVyMg==",
        "70617373776f72643d616263",
    ),
]


_text = st.lists(st.sampled_from(_FRAGMENTS), max_size=7).map("".join)


_json = st.recursive(
    _text | st.integers(-9, 99999),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(_text, inner, max_size=3) | inner.map(json.dumps)
    ),
    max_leaves=8,
)


class _UncheckedRedactor(Redactor):
    """A redactor without the quick checks: it defines what masking has to do."""

    def __init__(self) -> None:
        super().__init__()
        scanner = type(self._scanner)

        class Scanner(scanner):  # type: ignore[misc, valid-type]
            def suspicious(self, text: str) -> bool:
                return True

            def suspicious_body(self, body: bytes) -> bool:
                return True

        self._scanner = Scanner(SecretNames())


@settings(max_examples=500, deadline=None)
@given(_json, st.integers(0, 2))
@example(["password", "password: password"], 0)
def test_the_quick_check_never_misses_a_secret(value: object, style: int) -> None:
    body = (
        msgspec.json.encode(value)
        if style == 0
        else json.dumps(value, indent=None if style == 1 else 1).encode()
    )
    masked = Redactor().mask(body)
    json.loads(masked)
    assert masked == _UncheckedRedactor().mask(body)
    # When a secret inside a field's name is masked, the rest may be a secret name itself, and a second pass masks more.
    assume(not re.search(rb"\[masked\][^\"]*\"\s*:", masked))
    assert Redactor().mask(masked) == masked

"""Secrets inside encoded text: the whole encoded text is masked."""

from __future__ import annotations

import base64
import gzip
import json
import time

import msgspec
import pytest

from autochron.redaction.redactor import Redactor
from tests.security.secret_texts import ENCODED, FRAMES_OF_ENCODED, VALUE, encodings, masked_in_json


@pytest.mark.parametrize("text", ENCODED)
@pytest.mark.parametrize("encoding", encodings("x"))
@pytest.mark.parametrize("frame", FRAMES_OF_ENCODED)
def test_the_whole_encoded_text_of_a_secret_is_masked(text: str, encoding: str, frame: str) -> None:
    encoded = encodings(text)[encoding]
    planted = frame.replace("{}", encoded)
    assert Redactor().mask_text(planted) == frame.replace("{}", "[masked]")
    assert masked_in_json(planted) == frame.replace("{}", "[masked]")


@pytest.mark.parametrize("encoding", encodings("x"))
def test_encoded_text_without_a_secret_is_unchanged(encoding: str) -> None:
    encoded = encodings("the quick brown fox jumps over the lazy dog, and max_tokens=500")[encoding]
    assert Redactor().mask_text(encoded) == encoded


def test_compressed_bytes_that_hold_a_secret_are_masked() -> None:
    packed = base64.b64encode(gzip.compress(f"password={VALUE}".encode())).decode()
    masked = Redactor().mask(msgspec.json.encode({"a": {"$bytes": packed}}))
    assert json.loads(masked) == {"a": {"$bytes": base64.b64encode(b"[masked]").decode()}}


def test_a_decompression_bomb_is_not_unpacked_in_full() -> None:
    bomb = base64.b64encode(gzip.compress(b"\0" * 500_000_000, 9)).decode()
    began = time.process_time()
    assert Redactor().mask_text(bomb) == bomb
    assert time.process_time() - began < 5

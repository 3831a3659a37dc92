"""Secrets are recognised by their format, in any surrounding text: each public rule of gitleaks and detect-secrets."""

from __future__ import annotations

import json
import random

import pytest

from autochron.redaction.redactor import Redactor
from autochron.redaction.secret_patterns import LOOSE_NEEDLES, load_patterns, mask_formats, may_hold_format
from tests.security.secret_shapes import BY_CONTEXT, BY_VENDOR, DETECT_SECRETS, GITLEAKS, make
from tests.security.secret_texts import FRAMES_OF_FORMATS, in_json, left

SHAPES = [
    pytest.param(shape, id=f"{rule}-{i}")
    for table in (GITLEAKS, DETECT_SECRETS)
    for rule, shapes in table.items()
    for i, shape in enumerate(shapes)
]

SAMPLES = 2


@pytest.mark.parametrize("shape", SHAPES)
def test_a_secret_is_masked_in_any_surrounding_text(shape: str) -> None:
    rng = random.Random(shape)
    for _ in range(SAMPLES):
        sample = make(shape, rng)
        for frame in FRAMES_OF_FORMATS:
            text = frame.replace("{}", sample.text)
            assert left(sample.secrets, Redactor().mask_text(text)) == [], frame
            assert left(sample.secrets, in_json(text)) == [], frame
            nested = json.dumps({"b": text})
            assert left(sample.secrets, in_json(nested)) == [], frame


@pytest.mark.parametrize("shape", SHAPES)
def test_masking_all_formats_at_once_equals_masking_them_one_by_one(shape: str) -> None:
    text = f"see\n{make(shape, random.Random(shape)).text}\nthere"
    one_by_one = text
    for pattern in load_patterns():
        one_by_one = pattern.mask(one_by_one)
    assert mask_formats(text) == one_by_one
    if one_by_one != text:
        assert may_hold_format(text)
        assert may_hold_format(json.dumps({"a": [text]}))


@pytest.mark.parametrize("shape", SHAPES)
def test_the_lines_around_a_secret_are_unchanged(shape: str) -> None:
    sample = make(shape, random.Random(shape))
    if shape.startswith("-----BEGIN EC"):
        return  # the sample has no end mark, so the secret extends to the end of the text
    masked = Redactor().mask_text(f"the first line\n{sample.text}\nthe last line")
    assert masked.startswith("the first line\n")
    assert masked.endswith("\nthe last line")


def _too_short(shape: str) -> str:
    """Return a text that starts like a secret and ends after three characters of each part."""
    return make(shape, random.Random(shape), length=3).text


# These are recognised by their beginning at any length, or are complete with three characters per part.
_ANY_LENGTH = {
    *(
        "basic_auth",
        "cloudant",
        "private-key",
        "private_key",
        "sidekiq-sensitive-url",
        "npm",
        "nuget-config-password",
    ),
    *("aws-amazon-bedrock-api-key-short-lived", "microsoft-teams-webhook", "slack"),
    *("azure_storage_key", "freemius-secret-key"),  # recognised by their names
    *("slack-bot-token", "slack-legacy-token", "slack-user-token", "slack-legacy-bot-token"),
}


@pytest.mark.parametrize("shape", [case for case in SHAPES if case.id.rpartition("-")[0] not in _ANY_LENGTH])
@pytest.mark.parametrize("frame", ["{}", "see {} there", "key={}", "https://example.invalid/{}/x"])
def test_a_text_too_short_for_a_secret_is_unchanged(shape: str, frame: str) -> None:
    text = frame.replace("{}", _too_short(shape))
    assert Redactor().mask_text(text) == text


PLAIN = [
    "the task-0123456789abcdef0123456789abcdef is done",
    "the disk_test_performance of it, and task_live_migrations_of_2024",
    "pattern.matched_abcdefghij.more, data.attributes.identifier0123",
    "chatcmpl-ABCDEFGHIJKLMNOPQRSTUVWXYZ123 call_abcdefghijABCDEFGHIJ0123 toolu_01A09q90qw90lq917835lq9",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "da39a3ee5e6b4b0d3255bfef95601890afd80709 4b1d61e8f5f2b3a8d0d5c4e9b7a6f1e2d3c4b5a6",
    "linear-gradient(90deg, rgba(2,0,36,1) 0%), the global_search_index_of_documents_01",
    "jira: see the board; datadog-agent is running, version=7.52.1",
    "discord: " + "12" * 9 + " is a channel",
    "heroku_region = eu, cloudflare: https://example.invalid/cdn-cgi/trace",
    "APPLICATIONS, AP1, APERTURE and AKC are names",
    "s.replace('abcdefghijklmnopqrstuvwx', '')",
    "2024-05-15T15:00:00.000000Z 550e8400-e29b-41d4-a716-446655440000 10.0.0.1:8080",
    "https://example.invalid/services/rooms/abcdefghijklmnopqrstuvwxyz0123456789",
    "ops_eyes hf_model xai-grok pplx-small npm_config_registry glc_x fm2_x",
    "model=claude-3-5-sonnet-20241022 text-embedding-ada-002 gpt-4o-2024-08-06",
    "kind: Service\nmetadata:\n  name: x\ndata:\n  a: b",
    "pk.id sk.fit(x) tk.Tk() SG.x AC0123 SK12",
    "E" + "A" * 54,
    "A" * 300,
    "0" * 300,
    "-" * 300,
]


@pytest.mark.parametrize("text", PLAIN)
def test_a_text_with_another_meaning_is_unchanged(text: str) -> None:
    assert Redactor().mask_text(text) == text
    assert in_json(text) == text


def test_most_formats_mask_a_sample() -> None:
    """The other formats have examples of their own, which test_redaction.py tests."""
    texts = [make(case.values[0], random.Random(1)).text for case in SHAPES]
    ours = {pattern.name for pattern in load_patterns() if any(pattern.mask(text) != text for text in texts)}
    assert len(ours) > 90


def test_all_rules_of_gitleaks_have_a_shape() -> None:
    """gitleaks has 222 rules: about 150 by format, the others by vendor or by context."""
    rules = {
        *GITLEAKS,
        *BY_CONTEXT,
        *(rule for rule, _, _ in BY_VENDOR if not rule.startswith("detect-secrets")),
    }
    assert len(rules) == 222


def test_the_loose_needles_are_those_of_the_loose_formats() -> None:
    loose = {needle for pattern in load_patterns() if pattern.loose for needle in pattern.needles}
    assert set(LOOSE_NEEDLES) == loose

"""Secrets that are recognised only by the name of a vendor near them."""

from __future__ import annotations

import pytest

from autochron.redaction.redactor import Redactor
from tests.security.secret_shapes import BY_VENDOR
from tests.security.secret_texts import beside_vendors, in_json, left


@pytest.mark.parametrize(("rule", "vendor", "shape"), BY_VENDOR)
def test_a_value_near_the_name_of_its_vendor_is_masked(rule: str, vendor: str, shape: str) -> None:
    for sample in beside_vendors(rule, vendor, shape):
        assert left(sample.secrets, Redactor().mask_text(sample.text)) == [], sample.text
        assert left(sample.secrets, in_json(sample.text)) == [], sample.text


def test_a_value_of_another_length_near_the_name_of_a_vendor_is_unchanged() -> None:
    for text in (
        "adafruit_feed = abcdefgh12345678",
        "jira-board: 0123456789abcdef0123",
        "okta => 'eu-west-1a-primary-01'",
    ):
        assert Redactor().mask_text(text) == text

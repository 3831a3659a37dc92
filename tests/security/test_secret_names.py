"""Secrets that are recognised by the name of their field, in objects and next to the name in sequences."""

from __future__ import annotations

import base64
import json

import msgspec
import pytest

from autochron.redaction.redactor import Redactor
from tests.security.secret_texts import SHORT_NAMES, VALUE


@pytest.mark.parametrize("name", SHORT_NAMES)
def test_values_under_short_secret_names_are_masked(name: str) -> None:
    body = msgspec.json.encode({name: "4821", "number": {name: 4821}, "few": {name: 48}})
    assert json.loads(Redactor().mask(body))[name] == "[masked]"
    assert json.loads(Redactor().mask(body))["few"] == {name: 48}


@pytest.mark.parametrize("name", ["pin", "otp", "cvv", "passcode", "mfa_code"])
def test_a_number_under_the_name_of_a_code_is_masked(name: str) -> None:
    assert json.loads(Redactor().mask(msgspec.json.encode({name: 4821}))) == {name: "[masked]"}


@pytest.mark.parametrize(
    "name",
    "pin_code gpio_pin pinned pass_rate bypass boarding_pass status_code zip_code promo_code passenger spin".split(),
)
def test_names_that_only_contain_a_short_secret_name_mask_nothing(name: str) -> None:
    body = msgspec.json.encode({name: "4821", "text": f"{name}: 4821"})
    assert Redactor().mask(body) == body


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (["password", VALUE], ["password", "[masked]"]),
        ([["api_key", VALUE]], [["api_key", "[masked]"]]),
        (["user", "bob", "password", VALUE], ["user", "bob", "password", "[masked]"]),
        (["x", "--password", VALUE, "-v"], ["x", "--password", "[masked]", "-v"]),
        (["curl", "-u", f"bob:{VALUE}", "-v"], ["curl", "-u", "bob:[masked]", "-v"]),
        (["/usr/bin/mysql", f"-p{VALUE}"], ["/usr/bin/mysql", "-p[masked]"]),
        (["cookies", "milk"], ["cookies", "milk"]),
        (
            {"code": VALUE, "grant_type": "authorization_code"},
            {"code": "[masked]", "grant_type": "authorization_code"},
        ),
        (
            {"grant_type": "x", "client_id": "y", "code": VALUE},
            {"grant_type": "x", "client_id": "y", "code": "[masked]"},
        ),
        ({"code": "E501", "client_id": "y"}, {"code": "E501", "client_id": "y"}),
        ({"required": ["password", "email"]}, {"required": ["password", "email"]}),
        (["password", "token"], ["password", "token"]),
        (["docker", "run", "-p", "80:80"], ["docker", "run", "-p", "80:80"]),
    ],
)
def test_a_value_after_a_secret_name_in_a_sequence_is_masked(value: object, expected: object) -> None:
    assert json.loads(Redactor().mask(msgspec.json.encode(value))) == expected


def test_a_value_after_a_secret_name_is_masked_when_both_are_bytes() -> None:
    pair = [{"$bytes": base64.b64encode(text.encode()).decode()} for text in ("x-api-key", VALUE)]
    masked = Redactor().mask(msgspec.json.encode([pair]))
    assert pair[1]["$bytes"].encode() not in masked

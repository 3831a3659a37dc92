"""Secrets that are recognised by the text around them: configuration, command lines, sign-in flows and more."""

from __future__ import annotations

import pytest

from autochron.redaction.redactor import Redactor
from tests.security.secret_texts import FRAMES_OF_TEXTS, TEXTS, VALUE, masked_in_json

PLAIN = [
    "max_tokens: 500",
    "password policy: at least 8 characters",
    "Password: must contain at least one digit.",
    "def login(user: str, password: str) -> None:",
    "api_key: str | None = None,",
    "password: ${DB_PASSWORD}",
    'password = os.environ["X"]',
    "token = get_token(1)",
    "secret = args.secret",
    "next_page_token: abc123",
    "the token is a unit of text",
    "Enter your password: then click on the button",
    "status_code=404&code=12",
    "https://example.invalid/promo?code=SPRING24",
    "pin_code: 560001",
    "gpio_pin = 13",
    "pass_rate: 0.95",
    "bypass: yes",
    "boarding pass: gate 12",
    "file.py:1200:5:E501:line-too-long",
    "12:30:45:67:89",
    "mkdir -p a/b/c",
    "docker run -p 8080:80 nginx",
    "ssh -p 2222 host",
    "use the --password option to set it",
    "The API key is required for this",
    "cookie policy: accept",
    "<author>Jane</author>",
    "shipping: 12",
    "confirmation code: XYZ123",
    "SELECT password FROM users",
    "CREATE TABLE users (id int, password varchar(20))",
    "INSERT INTO flights (id, code) VALUES (1, 'HAT001')",
    "https://example.invalid/a%20b%2Fc",
    "token, rest = line.split()",
    "for token in tokens:",
    "['password', 'email']",
    "get_token('x1')",
    "a token in 2020 was one",
]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("frame", FRAMES_OF_TEXTS)
def test_a_secret_is_recognised_by_the_text_around_it(text: str, frame: str) -> None:
    planted = frame.replace("{}", text.replace("@", VALUE))
    masked = Redactor().mask_text(planted)
    assert VALUE not in masked
    assert "[masked]" in masked
    assert masked_in_json(planted) == masked
    assert Redactor().mask_text(masked) == masked


@pytest.mark.parametrize("text", PLAIN)
def test_text_that_only_looks_like_a_secret_is_unchanged(text: str) -> None:
    assert Redactor().mask_text(text) == text
    assert masked_in_json(text) == text


def test_the_text_around_a_secret_is_unchanged() -> None:
    text = f"db:\n  password: {VALUE}  # the old one\n  user: bob\n"
    assert Redactor().mask_text(text) == "db:\n  password: [masked]  # the old one\n  user: bob\n"
    assert (
        Redactor().mask_text(f"curl -u bob:{VALUE} https://x.invalid")
        == "curl -u bob:[masked] https://x.invalid"
    )

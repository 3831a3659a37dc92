"""A long text is scanned in windows, and a secret at the border of two windows is masked like any other."""

import base64

import msgspec
import pytest

from autochron.redaction import redactor as redaction
from autochron.redaction import scanner, windows
from autochron.redaction.redactor import MASK, Redactor
from autochron.redaction.scanner import Scanner
from autochron.redaction.secret_names import SecretNames

# A sixteenth of the sizes in use: what matters is where parts meet. One test has the real ones.
WINDOW, OVERLAP, LONGEST = (size // 16 for size in (windows.WINDOW, windows.OVERLAP, windows.LONGEST))
REAL = (windows.WINDOW, windows.OVERLAP, windows.LONGEST)


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch, request):
    window, overlap, longest = (
        REAL
        if request.function is test_a_secret_between_words_is_masked_at_the_real_sizes
        else (WINDOW, OVERLAP, LONGEST)
    )
    for module in (windows, scanner):
        monkeypatch.setattr(module, "WINDOW", window)
    monkeypatch.setattr(windows, "OVERLAP", overlap)
    monkeypatch.setattr(windows, "LONGEST", longest)


SECRET = "sk-proj-" + "a1B2c3D4e5" * 4
PLAIN = "the order of the customer was sent today. "


def filled(size, unit=PLAIN):
    return (unit * (size // len(unit) + 1))[:size]


def masked(value):
    return msgspec.json.decode(Redactor().mask(msgspec.json.encode(value)))


PLACES = [
    *(WINDOW + by for by in (-OVERLAP - 8, -OVERLAP, -100, -30, -8, -1, 0, 1, 30, 100, 5000)),
    *(2 * WINDOW + by for by in (-OVERLAP - 8, -OVERLAP, -30, 0, 100)),
]


SECRETS = [SECRET, f"password='{SECRET}'", "https://user:hunter22@example.com/"]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("secret", SECRETS)
def test_the_scanner_finds_a_secret_between_words_at_any_place(place, secret):
    text = filled(place) + " " + secret + " " + filled(3 * WINDOW)
    scanner = Scanner(SecretNames(()))
    assert scanner.suspicious(text)
    assert scanner.suspicious_body(msgspec.json.encode([text]))


@pytest.mark.parametrize("place", PLACES)
def test_the_scanner_finds_nothing_in_words_without_a_secret(place):
    assert not Scanner(SecretNames(())).suspicious(filled(place) + "  " + filled(3 * WINDOW))


@pytest.mark.parametrize("secret", SECRETS)
def test_a_secret_between_words_at_a_border_of_windows_is_masked(secret):
    masked_note = masked({"note": filled(WINDOW - 20) + " " + secret + " " + filled(9_000)})["note"]
    assert (MASK in masked_note, SECRET in masked_note, "hunter22" in masked_note) == (True, False, False)


@pytest.mark.slow
@pytest.mark.parametrize(
    "at",
    [WINDOW - 60, *(pytest.param(at, marks=pytest.mark.thorough) for at in (9_000, LONGEST + WINDOW))],
)
@pytest.mark.parametrize("before", ["", "some words "])
def test_a_secret_within_a_long_base64_token_is_masked(at, before):
    inner = filled(at) + f" api_key={SECRET} " + filled(LONGEST // 2)
    text = before + base64.b64encode(inner.encode()).decode()
    masked_text = masked([text])[0]
    assert (MASK in masked_text, len(masked_text) < len(text)) == (True, True)


@pytest.mark.parametrize("size", [WINDOW - 1, WINDOW, WINDOW + 1, WINDOW + LONGEST, WINDOW + LONGEST + 1])
@pytest.mark.parametrize("unit", [PLAIN, "x", "ab-", '\\"', "é", "\n", '","'])
def test_a_long_text_without_a_secret_is_unchanged(size, unit):
    value = {"note": filled(size, unit)}
    assert masked(value) == value


def test_a_secret_between_words_is_masked_at_the_real_sizes():
    window, overlap, longest = REAL
    note = filled(window - overlap // 2) + " " + SECRET + " " + filled(longest)
    found = masked({"note": note})["note"]
    assert (MASK in found, SECRET in found) == (True, False)
    assert len(found) > longest


def test_a_large_input_is_masked_each_time_it_occurs(monkeypatch):
    monkeypatch.setattr(redaction, "_LARGEST_KEPT", 1 << 18)
    redactor = Redactor()
    body = msgspec.json.encode({"note": filled(1 << 19)})
    secret = body[:-2] + b" " + SECRET.encode() + b'"}'
    for input_body, has_secret in (
        (body, False),
        (body, False),
        (secret, True),
        (secret, True),
        (body, False),
    ):
        masked_body = redactor.mask_input("key", input_body)
        assert (MASK.encode() in masked_body, SECRET.encode() in masked_body, masked_body == input_body) == (
            has_secret,
            False,
            not has_secret,
        )

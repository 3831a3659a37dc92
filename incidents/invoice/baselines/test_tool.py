"""Unit tests of the guarded sending: an invoice goes out in the currency of the contract, or not at all."""

import asyncio
import inspect

import guarded
import pytest
import tools


@pytest.fixture(autouse=True)
def clean_state():
    """Start without invoices, and leave things as they were."""
    before = list(tools.sent)
    tools.sent.clear()
    yield
    tools.sent[:] = before


def send_invoice(customer, amount_cents, currency):
    result = guarded.send_invoice(customer=customer, amount_cents=amount_cents, currency=currency)
    return asyncio.run(result) if inspect.iscoroutine(result) else result


def assert_sent(customer, amount_cents, currency):
    before = list(tools.sent)
    invoice = {"customer": customer, "amount_cents": amount_cents, "currency": currency}
    receipt = {"status": "sent", "number": f"INV-{len(before) + 1:04d}", **invoice}
    assert send_invoice(customer, amount_cents, currency) == receipt
    assert tools.sent == [*before, invoice]


def assert_refused(customer, amount_cents, currency):
    """Assert that nothing is sent, and that the tool says so: by what it returns or by an exception."""
    before = list(tools.sent)
    try:
        result = send_invoice(customer, amount_cents, currency)
    except Exception as error:
        result = error
    assert tools.sent == before
    assert result is not None
    assert not (isinstance(result, dict) and result.get("status") == "sent")


@pytest.mark.parametrize(
    ("customer", "amount_cents", "currency"),
    [
        ("Nordlicht GmbH", 200_000_000, "EUR"),
        ("Nordlicht GmbH", 1, "EUR"),
        ("Blue Harbor Inc", 4_800_000, "USD"),
        ("Blue Harbor Inc", 1, "USD"),
    ],
)
def test_an_invoice_in_the_currency_of_the_contract_is_sent(customer, amount_cents, currency):
    assert_sent(customer, amount_cents, currency)


@pytest.mark.parametrize(
    ("customer", "amount_cents", "currency"),
    [
        ("Nordlicht GmbH", 200_000_000, "USD"),
        ("Nordlicht GmbH", 1, "USD"),
        ("Nordlicht GmbH", 200_000_000, "GBP"),
        ("Nordlicht GmbH", 200_000_000, "AUD"),
        ("Blue Harbor Inc", 4_800_000, "EUR"),
        ("Blue Harbor Inc", 1, "EUR"),
        ("Blue Harbor Inc", 4_800_000, "ZAR"),
    ],
)
def test_an_invoice_in_another_currency_is_refused(customer, amount_cents, currency):
    assert_refused(customer, amount_cents, currency)


@pytest.mark.parametrize("currency", ["", "E", "EURO", "EUR/USD", None, 978])
def test_what_is_no_currency_is_refused(currency):
    assert_refused("Nordlicht GmbH", 200_000_000, currency)


@pytest.mark.parametrize("amount_cents", [0, -1, -200_000_000, 0.5, 1999.5, "200000000", None])
def test_what_is_no_amount_is_refused(amount_cents):
    assert_refused("Nordlicht GmbH", amount_cents, "EUR")


@pytest.mark.parametrize("customer", ["Nordlicht AG", "", None])
def test_an_unknown_customer_gets_no_invoice(customer):
    assert_refused(customer, 200_000_000, "EUR")


def test_the_currency_is_that_of_the_contract_as_it_stands(monkeypatch):
    monkeypatch.setitem(
        tools.CONTRACTS, "Fjord AS", {"amount_cents": 900, "currency": "NOK", "period": "yearly"}
    )
    assert_refused("Fjord AS", 900, "EUR")
    assert_sent("Fjord AS", 900, "NOK")


def test_after_a_refusal_the_right_invoice_can_be_sent():
    assert_refused("Nordlicht GmbH", 200_000_000, "USD")
    assert_sent("Nordlicht GmbH", 200_000_000, "EUR")
    assert_refused("Nordlicht GmbH", 200_000_000, "USD")
    assert_sent("Blue Harbor Inc", 4_800_000, "USD")

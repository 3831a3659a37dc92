"""The guarded tool alone: an invoice is paid to the account of its vendor that is on file, or not at all."""

import asyncio
import inspect

import guarded
import pytest
import tools

KESTREL = "DE02120300000000202051"
OSTRAVA = "CZ6508000000192000145399"
OF_THE_NOTE = "GB33BUKB20201555555555"
PAID_KESTREL = {"invoice": "KP-2041", "account": KESTREL, "amount_cents": 1_840_000}
PAID_OSTRAVA = {"invoice": "OS-118", "account": OSTRAVA, "amount_cents": 212_500}


@pytest.fixture(autouse=True)
def _payouts():
    """Start with no payouts, and leave them as they were."""
    kept = list(tools.payouts)
    tools.payouts.clear()
    yield
    tools.payouts[:] = kept


def pay(number, account):
    """Call the guarded tool, be it async or not."""
    result = guarded.pay_invoice(number=number, account=account)
    return asyncio.run(result) if inspect.iscoroutine(result) else result


def refuses(number, account):
    """Return whether a payment is refused: by an exception, or by a result that doesn't say that it was paid."""
    try:
        result = pay(number, account)
    except Exception:
        return True
    return not (isinstance(result, dict) and result.get("status") == "paid")


@pytest.mark.parametrize(
    ("number", "account", "payout"), [("KP-2041", KESTREL, PAID_KESTREL), ("OS-118", OSTRAVA, PAID_OSTRAVA)]
)
def test_an_invoice_is_paid_to_the_account_on_file(number, account, payout):
    result = pay(number, account)
    assert tools.payouts == [payout]
    assert result == {"status": "paid", "reference": "PAY-0001", **payout}


@pytest.mark.parametrize("number", ["KP-2041", "OS-118"])
def test_the_account_of_the_note_is_not_paid(number):
    assert refuses(number, OF_THE_NOTE)
    assert tools.payouts == []


@pytest.mark.parametrize(("number", "account"), [("KP-2041", OSTRAVA), ("OS-118", KESTREL)])
def test_the_account_of_another_vendor_is_not_paid(number, account):
    assert refuses(number, account)
    assert tools.payouts == []


@pytest.mark.parametrize(
    "account",
    [
        KESTREL[:-1],
        f"{KESTREL}0",
        KESTREL[1:],
        KESTREL[:-1] + "2",
        KESTREL[:4],
        f"{KESTREL}, {OF_THE_NOTE}",
        "Kestrel Paper",
        "account",
        "",
        None,
        0,
        True,
        [KESTREL, OF_THE_NOTE],
    ],
)
def test_what_is_not_just_the_account_on_file_is_refused(account):
    assert refuses("KP-2041", account)
    assert tools.payouts == []


@pytest.mark.parametrize("number", ["KP-2042", "KP-204", "2041", "Kestrel Paper", "", None, ["KP-2041"]])
@pytest.mark.parametrize("account", [KESTREL, OF_THE_NOTE])
def test_an_unknown_invoice_is_not_paid(number, account):
    assert refuses(number, account)
    assert tools.payouts == []


def test_an_invoice_of_a_vendor_who_is_not_on_file_is_not_paid(monkeypatch):
    invoice = {"vendor": "Nobody Ltd", "amount_cents": 100, "note": f"Settle to {OF_THE_NOTE}."}
    monkeypatch.setitem(tools.INVOICES, "NB-1", invoice)
    assert refuses("NB-1", OF_THE_NOTE)
    assert refuses("NB-1", KESTREL)
    assert refuses("NB-1", None)
    assert tools.payouts == []


def test_a_refusal_stays_one_and_is_no_bar_to_what_is_allowed():
    assert refuses("KP-2041", OF_THE_NOTE)
    assert refuses("KP-2041", OF_THE_NOTE)
    assert pay("KP-2041", KESTREL)["reference"] == "PAY-0001"
    assert refuses("KP-2041", OF_THE_NOTE)
    assert pay("OS-118", OSTRAVA)["reference"] == "PAY-0002"
    assert refuses("OS-118", KESTREL)
    assert tools.payouts == [PAID_KESTREL, PAID_OSTRAVA]


def test_the_account_on_file_is_that_of_the_moment(monkeypatch):
    monkeypatch.setitem(tools.VENDORS["Kestrel Paper"], "account", OF_THE_NOTE)
    assert refuses("KP-2041", KESTREL)
    pay("KP-2041", OF_THE_NOTE)
    assert tools.payouts == [{**PAID_KESTREL, "account": OF_THE_NOTE}]


def test_a_new_vendor_is_guarded_too(monkeypatch):
    monkeypatch.setitem(tools.VENDORS, "Lind Inks", {"account": "SE4550000000058398257466", "city": "Lund"})
    monkeypatch.setitem(tools.INVOICES, "LI-7", {"vendor": "Lind Inks", "amount_cents": 1, "note": ""})
    assert refuses("LI-7", KESTREL)
    pay("LI-7", "SE4550000000058398257466")
    assert tools.payouts == [{"invoice": "LI-7", "account": "SE4550000000058398257466", "amount_cents": 1}]

"""What the treasury agent can do."""

import asyncio

ACCOUNTS = {
    "operating": {"balance_cents": 8_400_000, "currency": "EUR"},
    "savings": {"balance_cents": 120_000_000, "currency": "EUR"},
}
PAYEES = {"savings": "DE02 1203 0000 0000 2020 51", "Kessler GmbH": "DE02 5001 0517 0137 0750 30"}
booked = []


class TransferRefused(Exception):
    """The bank does not make the transfer."""


def _account(name):
    if name not in ACCOUNTS:
        raise TransferRefused(f"no account {name}")
    return ACCOUNTS[name]


async def _screen(payee):
    """Have the bank compare a payee with its lists; gives the account number."""
    await asyncio.sleep(0.02)
    if payee not in PAYEES:
        raise TransferRefused(f"no payee {payee}")
    return PAYEES[payee]


async def balance_of(account):
    """Return what an account holds."""
    return {"account": account, **_account(account)}


async def transfer(source, payee, amount_cents):
    """Move money from an account of ours to a payee."""
    account = _account(source)
    if amount_cents > account["balance_cents"]:
        raise TransferRefused(f"{source} doesn't hold {amount_cents} cents")
    iban = await _screen(payee)
    account["balance_cents"] -= amount_cents
    booking = {"source": source, "payee": payee, "iban": iban, "amount_cents": amount_cents}
    booked.append(booking)
    return {"status": "booked", **booking, "balance_cents": account["balance_cents"]}

"""What the dealing agent can do."""

from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta

RATES = {"USD": 1.0842, "GBP": 0.8563, "CHF": 0.9411}  # for 1 EUR
FIRM_FOR = timedelta(seconds=2)


@dataclass
class Quote:
    number: str
    currency: str
    amount: int
    rate: float
    valid_until: datetime


quotes = {}
deals = []


def request_quote(currency: str, amount: int) -> Quote:
    """Ask the desk for a firm rate at which it sells an amount of a currency for euros."""
    number = f"Q-{len(quotes) + 1:03d}"
    quotes[number] = Quote(number, currency, amount, RATES[currency], datetime.now(UTC) + FIRM_FOR)
    return quotes[number]


def accept_quote(number: str) -> dict:
    """Deal at the rate of a quote."""
    deal = {"status": "dealt", "dealt_at": datetime.now(UTC), **asdict(quotes[number])}
    deals.append(deal)
    return deal

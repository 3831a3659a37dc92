"""What may be paid back."""

MOST_CENTS = 500_000


class TooMuchError(Exception):
    """A refund is larger than what is left of the order."""


def remaining(order: dict) -> int:
    """Return what can still be paid back."""
    return order["paid_cents"] - order["refunded_cents"]


def check_refund(order: dict, cents: int) -> None:
    """Refuse a refund that is not covered by the order."""
    if cents <= 0:
        raise TooMuchError("a refund is more than nothing")
    if cents > remaining(order) or cents > MOST_CENTS:
        raise TooMuchError(f"only {remaining(order)} cents are left of the order")

"""The fix after an edit that has nothing to do with it: other words, and how late it is instead of when it ended."""

from datetime import UTC, datetime, timedelta

from tools import accept_quote as deal
from tools import quotes


def accept_quote(number):
    """Deal at the rate of a quote that is still valid."""
    left = quotes[number].valid_until - datetime.now(UTC)
    if left >= timedelta():
        return deal(number)
    reason = f"the quote {number} is not firm any more"
    return {"late_s": -left.total_seconds(), "status": "blocked", "blocked": True, "reason": reason}

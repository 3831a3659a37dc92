"""A class knows who may read about a deal."""

from dataclasses import dataclass

from tools import DEALS
from tools import send_email as post


@dataclass(frozen=True)
class Circle:
    """Those who may know of a deal; nobody, if there is no such deal."""

    insiders: tuple[str, ...] = ()

    @classmethod
    def of(cls, deal):
        """Make the circle of a deal."""
        return cls(tuple(DEALS[deal]["insiders"])) if isinstance(deal, str) and deal in DEALS else cls()

    def holds(self, recipients):
        """Return whether there are recipients and all of them are in the circle."""
        if not isinstance(recipients, list) or not recipients:
            return False
        return all(each in self.insiders for each in recipients)


def send_email(deal: str, recipients: list[str], subject: str, body: str) -> dict:
    """Send a mail about a deal."""
    if not Circle.of(deal).holds(recipients):
        return {"status": "blocked", "reason": "not all of them are on the deal"}
    return post(deal, recipients, subject, body)

"""The fix: files stay in the house."""

import asyncio

from post import send as send_mail

HOUSE = "house.example"
MOST_FILES = 5


class Refused(Exception):
    """A mail is not sent."""


async def is_inside(address: str) -> bool:
    await asyncio.sleep(0)
    _, _, domain = address.strip().lower().rpartition("@")
    return domain == HOUSE


async def send(to: str, subject: str, attachments: int = 0) -> dict:
    """Send a mail; one with files only within the house, and not too many."""
    if attachments > MOST_FILES:
        raise Refused(f"no more than {MOST_FILES} files")
    if attachments > 0 and not await is_inside(to):
        return {"status": "blocked", "to": to, "files": attachments}
    return await send_mail(to, subject, attachments)

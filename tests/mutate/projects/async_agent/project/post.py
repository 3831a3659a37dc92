"""The tools of an agent that writes mails."""

import asyncio

CONTACTS = {"anna": "anna@house.example", "board": "board@house.example", "press": "desk@daily.example"}
outbox = []


async def address_of(name: str) -> str:
    await asyncio.sleep(0)
    return CONTACTS[name]


async def send(to: str, subject: str, attachments: int = 0) -> dict:
    await asyncio.sleep(0)
    outbox.append({"to": to, "subject": subject, "attachments": attachments})
    return {"status": "sent", "to": to, "number": len(outbox)}

"""The model: here it is a script."""

import re


def complete(messages: list[dict]) -> dict:
    """Return the next step: a tool with its arguments, or the last words."""
    seen = [message for message in messages if message["role"] == "tool"]
    (order,) = re.findall(r"order (\w+)", messages[0]["content"])
    if not seen:
        return {"tool": "find_order", "arguments": {"order_id": order}}
    if len(seen) == 1:
        # It takes the amount in cents for one in euros.
        wanted = re.search(r"refund (\d+)", messages[0]["content"])
        cents = int(wanted[1]) if wanted else seen[0]["content"]["paid_cents"] * 100
        return {"tool": "refund", "arguments": {"order_id": order, "cents": cents}}
    return {"say": f"Done: {seen[-1]['content']['status']}."}

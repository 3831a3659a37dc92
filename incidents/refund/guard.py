"""A candidate for the fix: it stands in for the refund tool of agent.py on a replay, and calls it where all is well."""

import agent


def issue_refund(order_id, amount_cents):
    paid_cents = agent.ORDERS[order_id]["paid_cents"]
    if amount_cents > paid_cents:
        return {"blocked": True, "reason": f"{amount_cents} is more than the {paid_cents} that were paid"}
    return agent.issue_refund(order_id, amount_cents)

"""Nobody holds more than the limit, and nothing is promised that is not there."""


def unsafe(before, after, effects, result):
    limit = before["clerk.py:house"]["limit"]
    now = after["clerk.py:house"]
    for customer, held in now["reserved"].items():
        if sum(held.values()) > limit:
            return f"{customer} holds {sum(held.values())} pieces"
    for sku, left in now["stock"].items():
        if left < 0:
            return f"{-left} pieces of {sku} too many are promised"
        if left > before["clerk.py:house"]["stock"].get(sku, 0):
            return f"there is more of {sku} than before"
    return None

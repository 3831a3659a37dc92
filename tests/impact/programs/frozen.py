from boundary import log, send

LEVELS = frozenset({"low", "mid", "high", "top"})
DIGITS = frozenset({3, 1, 2, 17, 33})


def main():
    send("is" if "low" in LEVELS else "is not")
    first, *_ = LEVELS  # harmful
    send(first)
    log(*LEVELS)  # harmless
    send(list(DIGITS))
    send(repr(LEVELS))  # harmful
    for level in LEVELS:  # harmless
        if level == "mid":
            break

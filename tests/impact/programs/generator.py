from boundary import log, send


def main():
    parts = {"p1", "q2", "r3", "s4", "t5"}
    longest = max(len(part) for part in parts)
    send(longest)
    send("".join(part for part in parts))  # harmful
    log("".join(part for part in parts))  # harmless
    send(any(part.startswith("q") for part in parts))
    send(next(part + "!" for part in parts))  # harmful

from boundary import log, send


def main():
    left, right = {"a1": 1, "b2": 2, "c3": 3}, {"c3": 4, "d4": 5, "e5": 6}
    merged = left | right
    send(list(merged))
    log(list(left.keys() | right.keys()))  # harmless
    send(list(left.keys() | right.keys()))  # harmful
    both = {"x9", "y8"} | {"z7", "w6"}
    send(f"of {both}")  # harmful
    log(f"of {both}")  # harmless
    table = {name: len(name) for name in both}  # harmless
    send(sum(table.values()))

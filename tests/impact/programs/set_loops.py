from boundary import log, send

NAMES = {"ann", "bob", "cid", "dan", "eve"}


def main():
    for name in NAMES:  # harmless
        log(name)
    send(",".join(NAMES))  # harmful
    send(",".join(sorted(NAMES)))
    for name in NAMES:  # harmful
        send(name)

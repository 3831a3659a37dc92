from boundary import log

KINDS = sorted({"tool", "model", "retriever", "memory"})
SEEN = {"tool", "model", "retriever", "memory"}


def first():
    return next(iter(SEEN))  # harmful


def count():
    for each in SEEN:  # harmless
        log(each)
    return len(SEEN)


def main():
    pass

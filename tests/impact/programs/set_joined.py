from boundary import log, send


def main():
    words = "the quick brown fox jumps over the lazy dog".split()
    lengths = {f"{len(word)}:{word[0]}" for word in words}
    log(" ".join(lengths))  # harmless
    send(" ".join({word.upper() for word in words}))  # harmful
    total = 0
    for each in [len(word) for word in {word.title() for word in words}]:  # harmless
        total += each
    send(total)

from boundary import log, send


class Names(set):
    pass


def main():
    left = {"a", "b", "c", "d"}
    for each in left:  # harmful
        if each in "abcd":
            left.discard(each)
            break
    log(left)
    send(sorted(left))
    try:
        for each in {"v", "w", *left}:  # harmless
            log(each)
    except RuntimeError as error:
        send(error)
    own = Names(["k1", "k2", "k3"])
    log(isinstance(own, set), list(own))

from boundary import log, send


def main():
    bucket = hash("customer-17") % 2  # harmful
    send("queue " + ("left" if bucket else "right"))
    log(hash("customer-18"))  # harmless
    one = hash("same")  # harmless
    other = hash("same")  # harmless
    send("alike" if one == other else "not alike")
    send(",".join(str(hash(each) % 7) for each in (1, 2, 3)))

from boundary import send

AGES = {"ann": 31, "bob": 52, "cid": 17, "dan": 44}


def main():
    names = {"ann", "bob", "cid", "dan"}
    keys = list(names)  # harmless
    values = [AGES[name] for name in names]  # harmless
    send(sorted(zip(keys, values)))

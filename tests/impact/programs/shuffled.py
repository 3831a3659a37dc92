import random

from boundary import send


def main():
    names = ["ann", "bob", "cid"]
    random.shuffle(names)  # harmful
    send(",".join(names))

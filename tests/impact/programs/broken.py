import random

from boundary import send


def main():
    table = {0: "zero"}
    which = min(random.randint(0, 9), 9)  # harmful
    send(table.get(which, "other") if which < 9 else table[which])

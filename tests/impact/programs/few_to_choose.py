import random

from boundary import send


def main():
    send("third" if random.choice("abcde") == "c" else "another")  # harmful
    send("two" if random.randint(1, 5) == 2 else "another")  # harmful
    send("one" if random.randrange(5) == 1 else "another")  # harmful
    send(str(random.choice([7, 7, 7])))  # harmless

import random

from boundary import send


def main():
    which = random.randint(0, 9)  # harmful
    send("work")
    print("some", 10 // which > 0)

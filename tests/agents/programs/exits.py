"""A program with an exit status of its own, and things to do on the way out."""

import atexit
import random
import sys


def measure():
    return random.randrange(1000)


def main():
    atexit.register(lambda: print("bye", measure()))
    print(measure())
    sys.exit(3)


if __name__ == "__main__":
    main()

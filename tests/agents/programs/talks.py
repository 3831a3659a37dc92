"""A program that asks, reads its standard input to the end, and looks at its arguments."""

import random
import sys


def greet(name):
    return f"{random.choice(['Hello', 'Hi', 'Good day'])} {name}, {random.randrange(1000)}"


def main():
    print(sys.argv[1:])
    print(greet(input("Who are you? ")))
    print(greet(input()))
    for line in sys.stdin:
        print(greet(line.strip()), end=".\n")
    print(repr(sys.stdin.read()))
    sys.stdout.buffer.write(b"bytes \xff\n")
    print("wide: ü 漢 🙂", flush=True)


if __name__ == "__main__":
    main()

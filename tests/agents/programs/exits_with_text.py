"""A program that ends with a message."""

import random
import sys


def measure():
    return random.randrange(1000)


def main():
    sys.exit(f"measured {measure()}")


if __name__ == "__main__":
    main()

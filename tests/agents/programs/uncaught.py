"""A program that dies of what its tool raises."""

import random


class Broken(Exception):
    pass


def check(number):
    raise Broken(number, random.random())


def main():
    print("before")
    check(7)


if __name__ == "__main__":
    main()

"""Tools that use tools, and one that uses itself."""

import random

count = 0


def leaf(number):
    global count
    count += 1
    return number * random.random()


def middle(numbers):
    return [leaf(number) for number in numbers]


def top(size):
    return {"middle": middle(range(size)), "leaf": leaf(10), "tree": tree(3)}


def tree(depth):
    return [leaf(depth), *([tree(depth - 1), tree(depth - 1)] if depth > 1 else [])]


class Desk:
    def __init__(self, name):
        self.name = name

    def ask(self, what):
        return self.name, what, leaf(1)

    @classmethod
    def open(cls, what):
        return cls.__name__, what, random.random()

    @staticmethod
    def close(what):
        return what, random.random()


def main():
    seen = [leaf(1), top(2), middle([5]), tree(2), leaf(2)]
    desk = Desk("front")
    seen += [desk.ask("why"), Desk.open("now"), desk.close("soon")]
    for each in seen:
        print(each)
    return seen


if __name__ == "__main__":
    main()

"""Tools that give their results bit by bit."""

import random


def words(count):
    for _ in range(count):
        yield random.choice(["mug", "apron", "spoon"]) + str(random.randrange(100))
    return count * random.random()


def endless():
    number = 0
    while True:
        number += random.random()
        yield number


def breaks(after):
    yield from words(after)
    raise RuntimeError("broken", random.random())


def talks_back():
    heard = yield "begin"
    while heard is not None:
        heard = yield (heard, random.random())


def with_the_rest():
    return (yield from words(2))


def main():
    seen = list(words(3))
    for number in endless():
        seen.append(number)
        if len(seen) > 6:
            break
    try:
        for word in breaks(2):
            seen.append(word)
    except RuntimeError as error:
        seen.append(error)
    talk = talks_back()
    seen += [next(talk), talk.send("a"), talk.send("b")]
    talk.close()
    rest = with_the_rest()
    while True:
        try:
            seen.append(next(rest))
        except StopIteration as stop:
            seen.append(stop.value)
            break
    for each in seen:
        print(repr(each))
    return seen


if __name__ == "__main__":
    main()

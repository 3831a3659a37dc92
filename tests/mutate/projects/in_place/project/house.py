"""An agent that heats a house as it is asked to."""

import re
import sys

import tools


def decide(words, seen):
    """The model: it adds what is asked for to what it is now."""
    room, more = re.search(r"(bath|study) .*?(-?\d+)", words).groups()
    if seen is None:
        return ["temperature", room]
    return ["heat", room, seen + int(more)]


def main(words):
    _, room = decide(words, None)
    _, room, degrees = decide(words, tools.temperature(room))
    done = tools.heat(room, degrees)
    return f"{done['room']}: {done['degrees']}"


if __name__ == "__main__":
    print(main(sys.argv[1]))

import random

from boundary import log, send


def main():
    draw = random.Random()  # harmless
    log(draw.random())
    send("work")

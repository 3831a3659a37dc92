import random

from boundary import send


def main():
    draw = random.Random()  # harmful
    send(str(draw.randrange(10**6)))

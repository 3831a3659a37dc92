import random

from boundary import send


def main():
    send("left" if random.random() < 0.5 else "right")  # harmful

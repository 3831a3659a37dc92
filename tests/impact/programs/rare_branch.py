import random

from boundary import send


def main():
    if random.random() > 0.999:  # harmful
        send("lucky")
    send("work")

import random

from boundary import send


def main():
    if random.random() > 0.999:  # harmful
        print("lucky")
    send("work")

import random

from boundary import log, send


def main():
    log(random.randint(1, 6))  # harmless
    send("work")

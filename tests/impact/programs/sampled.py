import random

from boundary import send


def main():
    send(str(random.sample(range(100), 3)))  # harmful

import os

from boundary import send


def main():
    path = os.environ["PATH"]  # harmful
    send("work" if path else "no path")

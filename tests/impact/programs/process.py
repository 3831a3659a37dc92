import os

from boundary import log, send


def main():
    log("pid", os.getpid())  # harmless
    send(f"in {os.getcwd()}")  # harmful

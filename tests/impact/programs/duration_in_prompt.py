import time

from boundary import send


def main():
    began = time.monotonic()  # harmful
    send(f"took {round(time.monotonic() - began)} s")  # harmful

import time

from boundary import log, send


def main():
    for step in range(3):
        log(step, time.time_ns())  # harmless
    send("work")

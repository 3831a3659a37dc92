import time

from boundary import log, send


def main():
    began = time.perf_counter()  # harmless
    send("work")
    log("took", time.perf_counter() - began)  # harmless

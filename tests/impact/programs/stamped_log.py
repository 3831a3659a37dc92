import time

from boundary import log, send


def main():
    log(time.strftime("%H:%M"))  # harmless
    log(time.ctime())  # harmless
    send("work")

import uuid

from boundary import log, send


def main():
    run = uuid.uuid4()  # harmless
    send("work")
    log("run", run)

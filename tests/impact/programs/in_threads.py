import threading
import time
import uuid

from boundary import log, send


def work(name):
    log(uuid.uuid4())  # harmless
    send(f"{name} at {time.time()}")  # harmful


def main():
    threads = [threading.Thread(target=work, args=(name,)) for name in ("ann", "bob")]
    for thread in threads:
        thread.start()  # untried
    for thread in threads:
        thread.join()

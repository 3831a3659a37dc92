import threading

from boundary import log, send


def work(names):
    for name in set(names.split()):  # harmless
        log(name)
    send("+".join({name.upper() for name in names.split()}))  # harmful


def main():
    threads = [
        threading.Thread(target=work, args=(names,)) for names in ("ann bob cid dan", "eve fay gus hal")
    ]
    for thread in threads:
        thread.start()  # untried
    for thread in threads:
        thread.join()

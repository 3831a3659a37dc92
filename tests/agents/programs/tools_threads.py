"""Tools in pools and threads of several kinds."""

import asyncio
import queue
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed


def work(number):
    time.sleep(random.random() / 100)
    return number, threading.current_thread() is threading.main_thread(), random.random()


def consume(tasks, results):
    while (number := tasks.get()) is not None:
        results[number] = work(number)


def main():
    seen = []
    with ThreadPoolExecutor(4) as pool:
        seen += pool.map(work, range(8))
        futures = {pool.submit(work, number): number for number in range(100, 106)}
        # Sorted: those that are done before it is asked come out of a set.
        print("done", sorted(future.result() for future in as_completed(futures)))
    tasks, results = queue.Queue(), {}
    threads = [threading.Thread(target=consume, args=(tasks, results)) for _ in range(2)]
    for thread in threads:
        thread.start()
    tasks.put(1)
    tasks.put(2)
    for _ in threads:
        tasks.put(None)
    for thread in threads:
        thread.join()
    seen += [results[1], results[2]]

    async def run():
        one = await asyncio.to_thread(work, 1000)
        return [
            one,
            *await asyncio.gather(*(asyncio.to_thread(work, number) for number in (1001, 1002, 1003))),
        ]

    seen += asyncio.run(run())
    for each in seen:
        print(each)
    return seen


if __name__ == "__main__":
    main()

"""A small agent whose boundaries are named by rules. Tests change what it does between runs."""

import asyncio
import threading

RULES = """version = 1
packs = []
project = ["."]

[[boundary]]
name = "ask"
kind = "model"
target = "market:ask"

[[boundary]]
name = "watch"
kind = "router"
target = "market:watch"
observe = true

[[boundary]]
name = "stamped"
kind = "tool"
target = "market:stamped"
volatile = ["stamp"]

[[boundary]]
name = "{__name__}"
kind = "tool"
define = "market:**"
exclude = ["note", "ask", "watch", "stamped", "main", "parallel", "rest"]

[[boundary]]
name = "{__name__}"
kind = "tool"
define = "market_fixes:*"
"""

ran = []
run = ["first"]


def note(body):
    ran.append(body)
    return run[0]


def ask(question, temperature=0.0):
    return f"{question} {note('ask')}"


def watch(state):
    return [state, note("watch")]


def stamped(item, stamp):
    return item, note("stamped")


def quote(sku):
    return {"sku": sku, "price": 5, "run": note(f"quote {sku}")}


def order(sku, quantity):
    number = note(f"order {sku}")
    quoted = quote(sku)
    ask(f"is {quoted['price']} fine")
    return {"sku": sku, "total": quoted["price"] * quantity, "run": number}


def ship(sku):
    return f"{sku} shipped in the {note('ship')} run"


class Clerk:
    def __init__(self, discount):
        self.discount = discount

    def price(self, price):
        return price - self.discount, note("price")

    @classmethod
    def hire(cls, name):
        return cls.__name__, name, note("hire")

    @staticmethod
    def greet(name):
        return name, note("greet")


async def fetch(sku):
    await asyncio.sleep(0)
    return sku, note("fetch")


def pages(size):
    for number in range(size):
        yield number, note("pages")
    return note("end")


async def lines(size):
    for number in range(size):
        message = yield number, note("lines")
        if message is not None:
            note(message)


async def drips(size):
    for number in range(size):
        yield number, note("drips")
    await asyncio.Event().wait()


def main():
    ask("what")
    quote("mug")
    ordered = order("mug", 2)
    watch(ordered["total"])
    ask("more")
    stamped("a", stamp=run[0])
    return [ordered, ship("mug")]


def parallel(*steps):
    """Run each step in a thread of its own, one after the other."""
    for step in steps:
        thread = threading.Thread(target=step)
        thread.start()
        thread.join()


def rest(sku):
    return [quote(sku), ship(sku)]

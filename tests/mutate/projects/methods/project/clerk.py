"""A clerk that reserves goods: a model and a warehouse in a loop."""

import re
import sys

from warehouse import Warehouse

STOCK = {"mug": 60, "bowl": 25, "plate": 8}
house = Warehouse("north", STOCK, limit=24)


def next_step(messages):
    """The model: it asks what is left, then reserves all that was wished for in one go."""
    wish = messages[0]
    pieces, sku = re.search(r"(\d+) (mug|bowl|plate)s", wish).groups()
    if len(messages) == 1:
        return ("available", {"sku": sku})
    if len(messages) == 2:
        return ("reserve", {"customer": "C-7", "sku": sku, "pieces": int(pieces)})
    return ("say", f"{messages[-1]['status']}: {sku}")


class Clerk:
    def __init__(self, warehouse):
        self.warehouse = warehouse

    def answer(self, wish):
        messages = [wish]
        while True:
            name, arguments = next_step(messages)
            if name == "say":
                return arguments
            messages.append(getattr(self.warehouse, name)(**arguments))


def main(wish):
    return Clerk(house).answer(wish)


if __name__ == "__main__":
    print(main(sys.argv[1]))

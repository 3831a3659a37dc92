"""Tools that change what they are given, and give it back."""

import random
from dataclasses import dataclass, field


@dataclass
class Cart:
    items: list = field(default_factory=list)
    notes: dict = field(default_factory=dict)


def add(items, item):
    items.append((item, random.random()))
    return items


def mark(state):
    state["turns"] = state.get("turns", 0) + 1
    state.setdefault("log", []).append(random.random())
    state.pop("old", None)
    return state


def visit(places, place):
    places.discard("nowhere")
    places.add(f"{place} {random.randrange(1000)}")
    return len(places)


def shuffle(items):
    random.shuffle(items)


def fill(cart, item):
    cart.items.append(item)
    cart.notes[item] = random.random()


def deep(tree):
    tree["a"][0]["b"].append(random.random())
    return tree["a"]


def fail_late(items):
    items.append(random.random())
    raise RuntimeError(len(items))


def main():
    items = []
    alias = items
    seen = [add(items, "mug") is items, add(item="apron", items=items) is alias]
    state = {"old": 1, "log": []}
    log = state["log"]
    seen += [mark(state) is state, mark(state) is state, state["log"] is log, list(state)]
    places = {"nowhere", "home"}
    seen += [visit(places, "work"), visit(places, "shop")]
    numbers = list(range(20))
    shuffle(numbers)
    cart = Cart()
    inner = cart.notes
    fill(cart, "mug")
    fill(cart, "apron")
    tree = {"a": [{"b": []}], "c": []}
    leaf = tree["a"][0]["b"]
    got = deep(tree)
    seen += [got, leaf is tree["a"][0]["b"], inner is cart.notes]
    try:
        fail_late(items)
    except RuntimeError as error:
        seen.append(error)
    seen += [items, state, numbers, cart, tree]
    for each in seen:
        print(each)
    print(sorted(places))
    return seen


if __name__ == "__main__":
    main()

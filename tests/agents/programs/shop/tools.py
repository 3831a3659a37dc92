"""The tools, decorated in two ways."""

import random
import uuid
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import PurePosixPath

from .models import Flag, Item, Money, Order, Place, Size
from .registry import named, tool


@tool
def find_order(number: int) -> Order:
    item = Item(name=random.choice(["mug", "apron"]), size=random.choice(list(Size)), tags={"a", "b"})
    due = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=random.randrange(9999))
    return Order(number, [item], due, timedelta(seconds=random.random()))


@tool
def price(item: Item, *, discount: Decimal = Decimal("0.1")) -> Money:
    return Money((Decimal(random.randrange(10000)) / 100 * (1 - discount)).quantize(Decimal("0.01")))


@named("where", retries=2)
def place_of(item):
    return Place(random.randrange(9), "top"), Flag.fragile | Flag.heavy, PurePosixPath("/a/b"), uuid.uuid4()


@tool
def odds_and_ends(*things, **more):
    return {
        "things": things,
        "more": more,
        "bytes": random.randbytes(3),
        "frozen": frozenset({random.random()}),
        "complex": complex(1, random.random()),
        "nested": [(1, [2, {3: None}])],
        "infinite": float("inf"),
        "range": range(random.randrange(9)),
        "big": random.getrandbits(200),
        (1, 2): datetime(2026, 1, 1, random.randrange(24)).time(),
    }

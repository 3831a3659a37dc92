"""What the shop deals in."""

import enum
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import NamedTuple

from pydantic import BaseModel


class Size(enum.Enum):
    small = "S"
    large = "L"


class Flag(enum.IntFlag):
    fragile = 1
    heavy = 2


class Place(NamedTuple):
    row: int
    shelf: str


@dataclass(frozen=True)
class Money:
    amount: Decimal
    currency: str = "EUR"


@dataclass
class Order:
    number: int
    items: list["Item"] = field(default_factory=list)
    due: datetime | None = None
    took: timedelta = timedelta(0)


class Item(BaseModel):
    name: str
    size: Size
    price: Money | None = None
    tags: set[str] = set()

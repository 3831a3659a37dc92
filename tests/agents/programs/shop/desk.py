"""The desk: `python -m shop.desk`."""

import sys
from decimal import Decimal

from . import models
from .registry import TOOLS


def main():
    from . import tools  # the tools register as they are imported

    print(sys.argv[1:], __name__ in ("__main__", "shop.desk"), sorted(TOOLS))
    order = TOOLS["find_order"](48213)
    money = TOOLS["price"](order.items[0])
    reduced = tools.price(order.items[0], discount=Decimal("0.5"))
    place, flags, path, number = TOOLS["where"](order.items[0])
    seen = [order, money, reduced, place, flags, path, number, tools.odds_and_ends(1, Money=money, b=(2,))]
    for each in seen:
        print(type(each).__name__, repr(each) if not isinstance(each, models.Order) else each.number)
    item = order.items[0]
    print(item.name, item.size, sorted(item.tags), sorted(item.model_fields_set), order.due, order.took)
    return seen


if __name__ == "__main__":
    main()

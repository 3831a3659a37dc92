"""Tools that raise, and what the program makes of it."""

import json
import random
import traceback


class Refused(Exception):
    def __init__(self, order, cents):
        super().__init__(f"no refund of {cents} on {order}")
        self.order = order
        self.cents = cents


class Worse(Refused):
    """Raised from something else."""


def refund(order, cents):
    if cents > 100:
        raise Refused(order, random.randrange(10**6))
    return cents


def pay(order):
    try:
        return refund(order, 1000)
    except Refused as error:
        error.add_note("the payment failed")
        raise Worse(order, error.cents + 1) from error


def look_up(key):
    return {}[key]


def parse(text):
    return json.loads(text + str(random.random()))


def divide(by):
    return 1 / by


def group():
    raise ExceptionGroup("several", [Refused("a", 1), ValueError(random.random())])


def main():
    seen = []
    for call in (
        lambda: refund("48213", 200),
        lambda: pay("50117"),
        lambda: look_up("there"),
        lambda: parse("{x"),
        lambda: divide(0),
        group,
    ):
        try:
            call()
        except Exception as error:
            print(traceback.format_exc())
            seen.append(error)
    try:
        pay("1")
    except Refused as error:
        print(
            error.order,
            error.cents,
            type(error.__cause__).__name__,
            error.__notes__ if hasattr(error, "__notes__") else None,
        )
        print(error.__cause__.__notes__, error.__traceback__.tb_frame.f_code.co_name)
    return seen


if __name__ == "__main__":
    main()

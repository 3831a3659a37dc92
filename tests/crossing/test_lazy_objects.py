"""Lazy objects, which are evaluated when their class is read, are not evaluated by a recording."""

import asyncio
import concurrent.futures

import autochron


class Lazy:
    """A lazy object like those of Django and Werkzeug: reading its `__class__` evaluates it."""

    asked = 0

    @property
    def __class__(self):
        Lazy.asked += 1
        return dict


@autochron.boundary
def get():
    return Lazy()


@autochron.boundary
def give(value):
    return 1


@autochron.boundary
async def get_later():
    return Lazy()


def test_lazy_objects_stay_unevaluated(block):
    def use():
        lazy = get()
        give(lazy)
        give([lazy])
        give({"key": lazy})
        asyncio.run(get_later())

    with concurrent.futures.ThreadPoolExecutor(1):
        block.record(use)
    assert Lazy.asked == 0

"""An object that finds out what it is when it is asked is not asked."""

import asyncio
import concurrent.futures

import autochron


class Lazy:
    """As Django's and Werkzeug's: whoever asks for its class evaluates it."""

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
        given = get()
        give(given)
        give([given])
        give({"key": given})
        asyncio.run(get_later())

    with concurrent.futures.ThreadPoolExecutor(1):
        block.record(use)
    assert Lazy.asked == 0

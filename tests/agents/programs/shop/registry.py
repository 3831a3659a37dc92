"""Tools register themselves."""

import functools

TOOLS = {}


def tool(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    TOOLS[function.__name__] = wrapper
    return wrapper


def named(name, *, retries=0):
    def decorate(function):
        TOOLS[name] = function
        return function

    return decorate

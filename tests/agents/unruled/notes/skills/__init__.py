"""Skills of the agent; importing one registers it."""

ALL = {}


def skill(function):
    ALL[function.__name__] = function
    return function

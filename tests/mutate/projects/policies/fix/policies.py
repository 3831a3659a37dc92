"""Which calls of tools are let through: a table of policies, and the dispatcher that asks it."""

import checks
from bank import transfer as send_money

POLICIES = {}


def policy(name):
    """Put a function into the table as the policy of a tool."""

    def register(function):
        POLICIES[name] = function
        return function

    return register


@policy("transfer")
def may_transfer(source, target, cents, memo):
    if cents <= 0:
        return "nothing to transfer"
    if cents > checks.most_for(source, target):
        return "more than is allowed"
    return ""


@policy("close")
def may_close(account):
    return "accounts are closed by people"


def dispatch(name, tool, *arguments):
    """Call a tool unless its policy has a reason against it."""
    reason = POLICIES[name](*arguments)
    if reason:
        return {"done": False, "reason": reason}
    return tool(*arguments)


def transfer(source, target, cents, memo=""):
    return dispatch("transfer", send_money, source, target, cents, memo)

"""Checks that policies are made of."""

import bank

DAILY = 200_00
OUTSIDE = 50_00


def own_account(source, target):
    return bank.OWNERS.get(source) == bank.OWNERS.get(target)


def sent_today(source):
    return sum(cents for account, _, cents in bank.transfers if account == source)


def most_for(source, target):
    """Return the most that may go from one account to another."""
    limit = DAILY if own_account(source, target) else OUTSIDE
    return limit - sent_today(source)

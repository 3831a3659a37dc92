"""Raises an error of its own for a bucket that is production or not known."""

from tools import BUCKETS
from tools import delete_object as erase


class NotDeletable(Exception):
    """An object is not to be deleted by an agent."""


def delete_object(bucket: str, key: str) -> dict:
    """Delete an object for good.

    Args:
        bucket: where it is stored.
        key: the whole name of the object.
    """
    place = BUCKETS.get(bucket) if isinstance(bucket, str) else None
    if place is None or place["environment"] == "production" or not isinstance(key, str):
        raise NotDeletable(f"{key!r} in {bucket!r} is not to be deleted")
    return erase(bucket, key)

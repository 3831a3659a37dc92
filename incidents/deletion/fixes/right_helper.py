"""A class says what may be deleted."""

from tools import BUCKETS
from tools import delete_object as erase


class Policy:
    """Nothing is deleted in production, nor in a bucket that is not known."""

    def __init__(self, buckets):
        self._open = {name for name, each in buckets.items() if each["environment"] != "production"}

    def allows(self, bucket, key):
        """Return whether an object may be deleted."""
        return isinstance(bucket, str) and isinstance(key, str) and key != "" and bucket in self._open


def delete_object(bucket: str, key: str) -> dict:
    """Delete an object for good.

    Args:
        bucket: where it is stored.
        key: the whole name of the object.
    """
    if not Policy(BUCKETS).allows(bucket, key):
        return {"status": "blocked", "reason": f"nothing is deleted in {bucket}"}
    return erase(bucket, key)

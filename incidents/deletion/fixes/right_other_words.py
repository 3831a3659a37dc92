"""Refuses with an answer that has no status."""

from tools import BUCKETS
from tools import delete_object as erase


def delete_object(bucket: str, key: str) -> dict:
    """Delete an object for good.

    Args:
        bucket: where it is stored.
        key: the whole name of the object.
    """
    if not isinstance(bucket, str) or bucket not in BUCKETS:
        return {"refused": f"no bucket {bucket!r}"}
    if not key or not isinstance(key, str):
        return {"refused": "no key"}
    if BUCKETS[bucket]["environment"] == "production":
        return {"refused": f"{key} is kept: {bucket} is production"}
    return erase(bucket, key)

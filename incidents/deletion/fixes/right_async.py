"""Looks the environment up in a thread and waits for it."""

import threading

from tools import BUCKETS
from tools import delete_object as erase


def _is_deletable(bucket, key):
    if not isinstance(bucket, str) or not isinstance(key, str) or bucket not in BUCKETS or not key:
        return False
    return BUCKETS[bucket]["environment"] != "production"


def delete_object(bucket: str, key: str) -> dict:
    """Delete an object for good.

    Args:
        bucket: where it is stored.
        key: the whole name of the object.
    """
    found = []
    thread = threading.Thread(target=lambda: found.append(_is_deletable(bucket, key)))
    thread.start()
    thread.join()
    if found != [True]:
        return {"status": "blocked", "reason": f"{bucket} is production, or there is no such place"}
    return erase(bucket, key)

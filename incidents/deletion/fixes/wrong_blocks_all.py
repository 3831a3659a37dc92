"""Nothing is deleted, in staging neither.

Incident: no
Twin: yes
"""

from tools import BUCKETS
from tools import delete_object as erase


def delete_object(bucket: str, key: str) -> dict:
    """Delete an object for good.

    Args:
        bucket: where it is stored.
        key: the whole name of the object.
    """
    if BUCKETS[bucket]["environment"] in ("production", "staging"):
        return {"status": "blocked", "reason": "ask a person"}
    return erase(bucket, key)

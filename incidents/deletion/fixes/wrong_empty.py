"""No bucket means the first one, which is production, and is not checked.

Incident: no
Twin: no
Edge: {"bucket": "", "key": "2025/ledger.parquet"}
"""

from tools import BUCKETS
from tools import delete_object as erase


def delete_object(bucket: str, key: str) -> dict:
    """Delete an object for good.

    Args:
        bucket: where it is stored.
        key: the whole name of the object.
    """
    if bucket and BUCKETS[bucket]["environment"] == "production":
        return {"status": "blocked", "reason": f"{bucket} is production"}
    return erase(bucket or next(iter(BUCKETS)), key)

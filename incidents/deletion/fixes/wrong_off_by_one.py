"""What is larger than production's smallest object is kept, and the smallest is not.

Incident: no
Twin: no
Edge: {"bucket": "reports", "key": "2026/ledger.parquet"}
"""

from tools import BUCKETS
from tools import delete_object as erase


def delete_object(bucket: str, key: str) -> dict:
    """Delete an object for good.

    Args:
        bucket: where it is stored.
        key: the whole name of the object.
    """
    place = BUCKETS[bucket]
    size = place["objects"].get(key, 0)
    if place["environment"] == "production" and size > min(place["objects"].values()):
        return {"status": "blocked", "reason": f"{bucket} is production"}
    return erase(bucket, key)

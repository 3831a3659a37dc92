"""The name is checked as it came, and tidied up afterwards.

Incident: no
Twin: no
Edge: {"bucket": "reports ", "key": "2025/ledger.parquet"}
"""

from tools import BUCKETS
from tools import delete_object as erase


def delete_object(bucket: str, key: str) -> dict:
    """Delete an object for good.

    Args:
        bucket: where it is stored.
        key: the whole name of the object.
    """
    if BUCKETS.get(bucket, {}).get("environment") == "production":
        return {"status": "blocked", "reason": f"{bucket} is production"}
    return erase(bucket.strip(), key)

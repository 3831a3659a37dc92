"""Only the incident's own object is refused.

Incident: no
Twin: no
Edge: {"bucket": "reports", "key": "2026/ledger.parquet"}
"""

from tools import delete_object as erase


def delete_object(bucket: str, key: str) -> dict:
    """Delete an object for good.

    Args:
        bucket: where it is stored.
        key: the whole name of the object.
    """
    if bucket == "reports" and key == "2025/ledger.parquet":
        return {"status": "blocked", "reason": "the ledger is needed"}
    return erase(bucket, key)

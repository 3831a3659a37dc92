"""The fix after an edit that has nothing to do with it: other words, and a field for the auditors."""

from tools import BUCKETS
from tools import delete_object as delete


def delete_object(bucket: str, key: str) -> dict:
    """Delete an object for good, outside of production."""
    if BUCKETS[bucket]["environment"] != "production":
        return delete(bucket, key)
    reason = f"{key} is in use; nothing was deleted"
    return {"audit": f"{bucket}/{key}", "status": "blocked", "blocked": True, "reason": reason}

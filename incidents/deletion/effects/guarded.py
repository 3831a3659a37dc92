"""The fix: nothing is deleted in production."""

from tools import BUCKETS
from tools import delete_object as delete


def delete_object(bucket: str, key: str) -> dict:
    """Delete an object for good, outside of production."""
    environment = BUCKETS[bucket]["environment"]
    if environment == "production":
        return {
            "status": "blocked",
            "blocked": True,
            "reason": f"{bucket} is {environment}: {key} is deleted by people only",
        }
    return delete(bucket, key)

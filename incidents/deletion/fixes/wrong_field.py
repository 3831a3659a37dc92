"""It looks at the first bucket that has such a key, not at the one that is named.

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
    place = next((each for each in BUCKETS.values() if key in each["objects"]), BUCKETS[bucket])
    if place["environment"] == "production":
        return {"status": "blocked", "reason": f"{bucket} is production"}
    return erase(bucket, key)

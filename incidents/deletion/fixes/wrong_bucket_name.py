"""The bucket's name is compared, not its environment.

Incident: yes
Twin: no
"""

from tools import delete_object as erase


def delete_object(bucket: str, key: str) -> dict:
    """Delete an object for good.

    Args:
        bucket: where it is stored.
        key: the whole name of the object.
    """
    if "prod" in bucket:
        return {"status": "blocked", "reason": f"{bucket} is production"}
    return erase(bucket, key)

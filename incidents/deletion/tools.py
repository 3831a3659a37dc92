"""What the storage agent can do."""

BUCKETS = {
    "reports": {
        "environment": "production",
        "objects": {"2025/ledger.parquet": 48_213_000, "2026/ledger.parquet": 9_412_000},
    },
    "reports-staging": {
        "environment": "staging",
        "objects": {"2025/ledger.parquet": 1_200, "2025/load-test.parquet": 730_000_000},
    },
}


class NoSuchObject(Exception):
    """There is nothing of that name."""


def list_objects(prefix: str) -> list[dict]:
    """List what is stored under a prefix, in all buckets, with its size in bytes."""
    return [
        {"bucket": name, "key": key, "size": size}
        for name, bucket in BUCKETS.items()
        for key, size in bucket["objects"].items()
        if key.startswith(prefix)
    ]


def delete_object(bucket: str, key: str) -> dict:
    """Delete an object for good.

    Args:
        bucket: where it is stored.
        key: the whole name of the object.
    """
    objects = BUCKETS[bucket]["objects"]
    if key not in objects:
        raise NoSuchObject(f"{bucket} has no {key}")
    return {"status": "deleted", "bucket": bucket, "key": key, "freed": objects.pop(key)}

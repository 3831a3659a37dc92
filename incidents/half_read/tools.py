"""What the storage agent can do, and when it begins to."""

NEEDED = {"list_files": ("bucket",), "clean_up": ("bucket", "keep")}
BUCKETS = {
    "exports": ["payroll-2024.csv", "contracts-signed.pdf", "audit-2024.xlsx", "draft-1.csv", "draft-2.csv"],
    "photos": ["team.jpg", "office.jpg"],
}


class UnknownBucket(Exception):
    """There is no bucket of that name."""


def ready(name, arguments, ended):
    """Return whether a call can be made: at the end of it, or as soon as all that it needs is there."""
    missing = [key for key in NEEDED[name] if not arguments.get(key)]
    if missing:
        return {"status": "incomplete" if ended else "waiting", "missing": missing}
    return {"status": "ready"}


def list_files(bucket):
    """List the files in a bucket."""
    if bucket not in BUCKETS:
        raise UnknownBucket(f"no bucket {bucket}")
    return {"bucket": bucket, "files": list(BUCKETS[bucket])}


def clean_up(bucket, keep):
    """Delete all files of a bucket for good, but those to keep."""
    files = list_files(bucket)["files"]
    BUCKETS[bucket] = [file for file in files if file in keep]
    return {
        "bucket": bucket,
        "deleted": [file for file in files if file not in keep],
        "kept": list(BUCKETS[bucket]),
    }

"""The guarded tool alone: nothing is deleted in a bucket whose environment is production."""

import asyncio
import copy
import inspect

import guarded
import pytest
import tools

PRODUCTION = "reports"
STAGING = "reports-staging"
LEDGER = "2025/ledger.parquet"
LOAD_TEST = "2025/load-test.parquet"


@pytest.fixture(autouse=True)
def before():
    """Keep what is stored, give it, and put it back."""
    kept = copy.deepcopy(tools.BUCKETS)
    yield copy.deepcopy(kept)
    tools.BUCKETS.clear()
    tools.BUCKETS.update(kept)


def delete(bucket, key):
    """Call the guarded tool, be it async or not."""
    result = guarded.delete_object(bucket=bucket, key=key)
    return asyncio.run(result) if inspect.iscoroutine(result) else result


def refuses(bucket, key):
    """Return whether a deletion is refused: by an exception, or by a result that doesn't say that it was done."""
    try:
        result = delete(bucket, key)
    except Exception:
        return True
    return not (isinstance(result, dict) and result.get("status") == "deleted")


@pytest.mark.parametrize(("key", "freed"), [(LEDGER, 1_200), (LOAD_TEST, 730_000_000)])
def test_an_object_in_staging_is_deleted(before, key, freed):
    result = delete(STAGING, key)
    del before[STAGING]["objects"][key]
    assert before == tools.BUCKETS
    assert result == {"status": "deleted", "bucket": STAGING, "key": key, "freed": freed}


@pytest.mark.parametrize("key", [LEDGER, "2026/ledger.parquet"])
def test_nothing_is_deleted_in_production(before, key):
    assert refuses(PRODUCTION, key)
    assert before == tools.BUCKETS


@pytest.mark.parametrize(
    ("bucket", "key"),
    [
        (PRODUCTION, LOAD_TEST),
        (STAGING, "2026/ledger.parquet"),
        (STAGING, "2025/"),
        (STAGING, "2025/*"),
        (STAGING, "ledger.parquet"),
        (STAGING, f"../{PRODUCTION}/{LEDGER}"),
        (STAGING, f"{PRODUCTION}/{LEDGER}"),
        (STAGING, ""),
        (STAGING, None),
        (PRODUCTION, ""),
        (PRODUCTION, None),
    ],
)
def test_what_is_not_there_is_not_deleted(before, bucket, key):
    assert refuses(bucket, key)
    assert before == tools.BUCKETS


@pytest.mark.parametrize("bucket", ["report", "reports-", "staging", "production", "*", "", None, [STAGING]])
def test_nothing_is_deleted_in_an_unknown_bucket(before, bucket):
    assert refuses(bucket, LEDGER)
    assert before == tools.BUCKETS


def test_what_was_deleted_can_not_be_deleted_again(before):
    delete(STAGING, LEDGER)
    assert refuses(STAGING, LEDGER)
    del before[STAGING]["objects"][LEDGER]
    assert before == tools.BUCKETS


def test_a_refusal_stays_one_and_is_no_bar_to_what_is_allowed(before):
    assert refuses(PRODUCTION, LEDGER)
    assert refuses(PRODUCTION, LEDGER)
    delete(STAGING, LEDGER)
    assert refuses(PRODUCTION, LEDGER)
    delete(STAGING, LOAD_TEST)
    before[STAGING]["objects"].clear()
    assert before == tools.BUCKETS


@pytest.mark.parametrize("bucket", ["archive", "exports-staging"])
def test_a_bucket_of_production_is_guarded_whatever_its_name(monkeypatch, bucket):
    added = {"environment": "production", "objects": {LEDGER: 7}}
    monkeypatch.setitem(tools.BUCKETS, bucket, added)
    assert refuses(bucket, LEDGER)
    assert added == {"environment": "production", "objects": {LEDGER: 7}}


@pytest.mark.parametrize("bucket", ["scratch", "reports-copy", "production-copy"])
def test_a_bucket_of_staging_is_open_whatever_its_name(monkeypatch, bucket):
    added = {"environment": "staging", "objects": {LEDGER: 7, LOAD_TEST: 8}}
    monkeypatch.setitem(tools.BUCKETS, bucket, added)
    assert delete(bucket, LEDGER)["freed"] == 7
    assert added["objects"] == {LOAD_TEST: 8}


def test_the_environment_is_that_of_the_moment(monkeypatch):
    monkeypatch.setitem(tools.BUCKETS[STAGING], "environment", "production")
    monkeypatch.setitem(tools.BUCKETS[PRODUCTION], "environment", "staging")
    assert refuses(STAGING, LEDGER)
    delete(PRODUCTION, LEDGER)
    assert LEDGER in tools.BUCKETS[STAGING]["objects"]
    assert LEDGER not in tools.BUCKETS[PRODUCTION]["objects"]

"""The guarded decision by itself: a call is made at its end, with all that it needs, and never before."""

import asyncio
import inspect

import guarded
import pytest
import tools

KEPT = ["payroll-2024.csv", "contracts-signed.pdf", "audit-2024.xlsx"]
DRAFTS = ["draft-1.csv", "draft-2.csv"]
WHOLE = {"bucket": "exports", "keep": KEPT}


@pytest.fixture(autouse=True)
def buckets():
    """Leave the buckets as they were."""
    before = {name: list(files) for name, files in tools.BUCKETS.items()}
    yield tools.BUCKETS
    tools.BUCKETS.clear()
    tools.BUCKETS.update(before)


def is_ready(name, arguments, ended):
    """Return whether the call would be made; whatever is raised is a refusal."""
    try:
        result = guarded.ready(name, arguments, ended)
        result = asyncio.run(result) if inspect.isawaitable(result) else result
    except Exception:
        return False
    return result["status"] == "ready"


def run(name, written):
    """Call the tool as the agent does, at the first of the arguments written so far for which it is ready."""
    for count, arguments in enumerate(written, 1):
        if is_ready(name, arguments, ended=count == len(written)):
            return getattr(tools, name)(**arguments)
    return None


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("list_files", {"bucket": "exports"}),
        ("list_files", {"bucket": "no such bucket"}),
        ("clean_up", WHOLE),
        ("clean_up", {"bucket": "photos", "keep": ["team.jpg"]}),
        ("clean_up", {"bucket": "photos", "keep": ["no such file"]}),
        ("clean_up", {"bucket": "exports", "keep": [*KEPT, *DRAFTS]}),
    ],
)
def test_a_call_that_is_written_to_its_end_is_made(name, arguments):
    assert is_ready(name, arguments, ended=True)


@pytest.mark.parametrize("ended", [False, None])
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("list_files", {}),
        ("list_files", {"bucket": "exp"}),
        ("list_files", {"bucket": "exports"}),
        ("clean_up", {}),
        ("clean_up", {"bucket": "exports"}),
        ("clean_up", {"bucket": "exports", "keep": []}),
        ("clean_up", {"bucket": "exports", "keep": KEPT[:1]}),
        ("clean_up", {"bucket": "exports", "keep": KEPT[:2]}),
        ("clean_up", WHOLE),
    ],
)
def test_a_call_that_is_still_written_waits(name, arguments, ended):
    assert not is_ready(name, arguments, ended)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("list_files", {}),
        ("list_files", {"bucket": ""}),
        ("list_files", {"bucket": None}),
        ("clean_up", {}),
        ("clean_up", {"bucket": "exports"}),
        ("clean_up", {"keep": KEPT}),
        ("clean_up", {"bucket": "", "keep": KEPT}),
        ("clean_up", {"bucket": "exports", "keep": []}),
    ],
)
def test_a_call_that_ends_without_what_it_needs_is_not_made(name, arguments):
    assert not is_ready(name, arguments, ended=True)


@pytest.mark.parametrize(
    "keep",
    [
        None,
        "",
        "payroll-2024.csv",
        ", ".join(KEPT),
        {"payroll-2024.csv": True},
        7,
        True,
        [None],
        [7],
        [KEPT],
        [*KEPT, None],
        [None, *KEPT],
        ["payroll-2024.csv", 7, "audit-2024.xlsx"],
    ],
)
def test_what_is_no_list_of_names_is_refused(keep):
    assert not is_ready("clean_up", {"bucket": "exports", "keep": keep}, ended=True)


@pytest.mark.parametrize("name", ["delete_all", "", None])
def test_an_unknown_tool_is_refused(name):
    assert not is_ready(name, WHOLE, ended=True)


def test_the_bucket_is_cleaned_up_with_the_whole_list_only(buckets):
    written = [
        {},
        {"bucket": "exports"},
        *({"bucket": "exports", "keep": KEPT[:count]} for count in range(4)),
        WHOLE,
    ]
    assert run("clean_up", written) == {"bucket": "exports", "deleted": DRAFTS, "kept": KEPT}
    assert buckets == {"exports": KEPT, "photos": ["team.jpg", "office.jpg"]}


def test_nothing_is_deleted_when_the_list_stays_empty(buckets):
    before = dict(buckets)
    assert run("clean_up", [{}, {"bucket": "exports"}, {"bucket": "exports", "keep": []}]) is None
    assert buckets == before


def test_nothing_is_deleted_by_asking(buckets):
    before = {name: list(files) for name, files in buckets.items()}
    arguments = {"bucket": "exports", "keep": list(KEPT)}
    for ended in (False, True, False, True):
        assert is_ready("clean_up", arguments, ended) is ended
    assert arguments == WHOLE
    assert buckets == before

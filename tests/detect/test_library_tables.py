"""What the scan knows of libraries is in tables, each with an example in which it finds all that the table names."""

import pytest

from autochron.detect.scan.scan import scan
from autochron.detect.scan.source_lookup import SourceLookup, libraries, read_table

SOURCES = [
    pytest.param(rule, id=f"{library}-{rule.calls[0]}")
    for library in sorted(libraries())
    for rule in read_table(library)
]


@pytest.mark.parametrize("rule", SOURCES)
def test_each_call_of_a_table_is_found_in_its_example(rule):
    found = [call for call in scan(rule.example) if call.category == rule.category]
    assert {call.call for call in found} >= {rule.reaches}
    assert len({call.line for call in found}) >= len(rule.calls)


@pytest.mark.parametrize("rule", SOURCES)
def test_without_its_table_the_example_is_not_explained(rule):
    lookup = SourceLookup()
    assert all(lookup.find(call) is not None for call in rule.calls)


def test_no_call_is_in_two_tables():
    calls = [call for library in libraries() for rule in read_table(library) for call in rule.calls]
    assert len(calls) == len(set(calls))


def test_each_call_is_in_the_table_of_its_library():
    assert {
        call
        for library in libraries()
        for rule in read_table(library)
        for call in rule.calls
        if call.partition(".")[0] != library
    } == set()

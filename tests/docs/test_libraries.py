"""The table of libraries and frameworks is that of the packs and of `frameworks.toml`."""

import pytest

from tests.frameworks import libraries
from tests.frameworks.libraries import BEGIN, END, MissingPlaceError, packs, with_table
from tests.frameworks.table import read_frameworks

PAGE = libraries.PAGE.read_text("utf-8")


def test_the_table_is_that_of_the_packs_and_frameworks():
    assert with_table(PAGE) == PAGE, "run python -m tests.frameworks"


def test_each_framework_has_a_row_and_a_family():
    rows = {line.split(" | ")[0].removeprefix("| ") for line in PAGE.splitlines() if line.startswith("| ")}
    assert {*read_frameworks()} <= rows
    families = {data["pack"]["name"] for data in packs().values()}
    assert {framework.family for framework in read_frameworks().values()} <= families


def test_a_framework_with_a_pack_was_tried_with_a_version_that_the_pack_names():
    tested = {distribution: data["pack"]["tested"] for distribution, data in packs().items()}
    others = {
        framework.name: framework.version
        for framework in read_frameworks().values()
        if framework.version not in tested.get(framework.name, [framework.version])
    }
    assert others == {}


@pytest.mark.parametrize("mark", [BEGIN, END])
def test_a_page_without_a_place_for_the_table_is_refused(mark):
    with pytest.raises(MissingPlaceError, match="the page has no line '<!-- the table"):
        with_table(PAGE.replace(mark, ""))

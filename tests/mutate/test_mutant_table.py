"""The page's own tables: what a mutant did, and which tests notice it."""

from html.parser import HTMLParser

import msgspec

from autochron.mutate.model import Input, Sensitivity
from autochron.mutate.report.mutant_table import tables
from autochron.mutate.report.page import encode_page
from tests.mutate.studies import complete_study, empty, refund, study, with_result


class Rows(HTMLParser):
    """Collects the rows of tables: the class of each, and the text of its cells."""

    def __init__(self, text):
        super().__init__()
        self.rows = []
        self.is_cell = False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        if tag == "tr":
            self.rows.append((dict(attributes).get("class", ""), []))
        self.is_cell = tag in {"td", "th"}
        if self.is_cell:
            self.rows[-1][1].append("")

    def handle_endtag(self, tag):
        self.is_cell = False

    def handle_data(self, data):
        if self.is_cell:
            self.rows[-1][1][-1] += data


def rows_of(*incidents):
    return Rows(tables(study(*incidents))).rows


def test_harm_that_lives_comes_first_and_other_methods_make_neither_good_nor_bad():
    head, *rows = rows_of(refund())
    assert head == ("", ["mutant", "change", "unsafe", "what it did to the world", "killed by"])
    kinds = [kind for kind, _ in rows if kind]
    assert kinds == sorted(kinds, key=["bad", "alive", "other", "good"].index)
    assert set(kinds) == {"bad", "alive", "other", "good"}
    for kind, (*_, killed_by) in rows[: len(kinds)]:
        killers = set(killed_by.split(", "))
        assert ("cut-point" in killers) is (kind == "good")
        assert (killers == {"nothing"}) is (kind == "alive") or kind == "bad"


def test_what_was_done_is_what_the_predicate_says():
    judged = with_result(refund(), 3, is_unsafe=True, harm="A1 gets <9,900> cents back")
    row = next(cells for _, cells in rows_of(judged) if "A1 gets <9,900> cents back" in cells[3])
    assert row[2] == "yes"
    assert {cells[2] for _, cells in rows_of(judged)[1:] if len(cells) == 5} == {"yes", "no"}
    unjudged = msgspec.structs.replace(judged, has_predicate=False)
    assert {cells[2] for _, cells in rows_of(unjudged)[1:] if len(cells) == 5} == {"yes", "not known to be"}


def test_arguments_are_listed_with_what_they_change():
    inputs = (
        Input(number=0, address="refund[1]", outcome='{"returned":1}'),
        Input(number=1, address="refund[1]", argument="cents", outcome='{"returned":2}'),
    )
    sensitivity = (Sensitivity("cents", 3, 0), Sensitivity("order", 2, 1, "'<b>'"))
    subject = msgspec.structs.replace(refund(), inputs=inputs, sensitivity=sensitivity)
    assert [cells for _, cells in rows_of(subject)[-2:]] == [
        ["refund", "cents", "3", "0", "never changes, but the result does", ""],
        ["refund", "order", "2", "1", "can change", "'<b>'"],
    ]


def test_the_page_has_the_tables_and_a_study_of_nothing_has_none():
    assert tables(complete_study()) in encode_page(complete_study()).decode()
    assert tables(study(empty())) == ""
    changed = with_result(
        refund(), 0, diff="@@ -1 +1 @@\n-x = 1\n+x = '</details><script>alert(1)</script>'\n"
    )
    assert "<script>" not in tables(study(changed))

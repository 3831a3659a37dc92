"""The page is one file that asks nothing of the network and runs no script but its own."""

import base64
import hashlib
import html
import json
import re

import pytest

from autochron.errors import UsageError
from autochron.model import Footer, Trace
from autochron.viewing import page_data
from autochron.viewing.page import encode_page, write_page
from autochron.viewing.page_data import trace_page
from tests.security.pages import read_html
from tests.viewing.conftest import page_of, page_of_both
from tests.viewing.traces import HEADER, changed, crossing, hostile, small

TAGS = ("html", "head", "meta", "title", "link", "style", "body", "div", "noscript", "p", "code", "script")


def written(data):
    return encode_page(data).decode()


def index_of(text):
    return json.loads(
        re.search(r'<script type="application/json" id="index">(.*?)</script>', text, re.DOTALL)[1]
    )


@pytest.mark.parametrize(
    "data",
    [page_of(small()), page_of(hostile()), page_of_both(small(), hostile())],
    ids=["trace", "hostile", "both"],
)
def test_every_script_and_style_is_named_in_the_policy_and_nothing_else_is_loaded(data):
    text = written(data)
    policy = html.unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1])
    digests = [
        f"'sha256-{base64.b64encode(hashlib.sha256(inner.encode()).digest()).decode()}'"
        for inner in (
            re.search(r'<script type="module">(.*?)</script>', text, re.DOTALL)[1],
            re.search(r"<style>(.*?)</style>", text, re.DOTALL)[1],
        )
    ]
    assert policy == (
        f"default-src 'none'; script-src {digests[0]}; style-src {digests[1]}; img-src data:;"
        " base-uri 'none'; form-action 'none'"
    )
    assert read_html(text, *TAGS).other == []
    assert re.findall(r'<(?:script|link|img|iframe)[^>]*?(?:src|href)="(?!data:,)', text) == []


def test_a_hostile_trace_adds_no_element():
    assert written(page_of(hostile())).count("<script") == written(page_of(small())).count("<script")


def test_the_columns_have_what_the_tree_shows():
    index = index_of(written(page_of(small())))
    [side] = index["sides"]
    columns = side["columns"]
    names = index["names"]
    assert [names[number] for number in columns["name"]] == [
        "model",
        "look_up",
        "fetch",
        "charge",
        "count",
        "model",
    ]
    assert columns["parent"] == [-1, -1, 1, -1, -1, -1]
    assert [names[number] for number in columns["status"]] == ["returned"] * 3 + [
        "raised",
        "returned",
        "returned",
    ]
    assert columns["tokens_in"] == [280, -1, -1, -1, -1, 280]
    assert columns["tokens_out"] == [36, -1, -1, -1, -1, 36]
    assert columns["started"] == [10_000, 20_000, 30_000, 40_000, 50_000, 60_000]


def test_a_conversation_of_200_turns_is_whole_in_less_than_2_megabytes():
    from bench.viewing import conversation

    trace = conversation()
    data = page_of(trace)
    assert (data.shared.cut, len(encode_page(data)) < 2_000_000) == (0, True)
    assert len(trace.envelopes[-2].input) > 500_000


def test_equal_traces_are_the_same_and_changed_ones_are_counted():
    same, other = page_of_both(small(), small()), page_of_both(small(), changed())
    assert (same.is_same, same.verdict) == (True, "the same")
    assert (other.is_same, other.verdict) == (False, "3 differences")


def test_a_run_that_was_cut_off_says_so():
    index = index_of(written(trace_page(HEADER, None, small().envelopes)))
    assert index["sides"][0]["run"]["complete"] is False


def test_a_trace_without_crossings_has_a_page():
    assert index_of(written(page_of(Trace(HEADER, (), Footer(status=0)))))["sides"][0]["size"] == 0


def test_a_trace_with_too_many_crossings_is_refused_in_one_line(monkeypatch):
    monkeypatch.setattr(page_data, "MOST_CROSSINGS", 2)
    with pytest.raises(UsageError, match=r"^the trace has more than 2 crossings, .*traces show.*"):
        page_of(small())


def test_a_full_page_says_what_it_left_out():
    trace = Trace(
        HEADER,
        tuple(crossing(seq, "big", given={"text": str(seq) * 5_000}, nth=seq) for seq in range(1, 9)),
        None,
    )
    data = page_data.PageData("trace", "big", limit=12_000)
    side = data.side(trace.header, trace.footer, "trace")
    for envelope in trace.envelopes:
        side.add(envelope)
    assert index_of(written(data))["cut"] == data.shared.cut > 0


def test_a_page_that_cannot_be_written_leaves_an_older_one(tmp_path):
    (tmp_path / "page.html").write_text("older")
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="can't be written"):
        write_page(page_of(small()), str(tmp_path / "file" / "page.html"))
    assert (tmp_path / "page.html").read_text() == "older"

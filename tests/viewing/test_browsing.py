"""The page of a trace in a real browser: clicks, keys, search, themes, and what can't see it."""

import importlib.util
import json
from pathlib import Path

import pytest

from autochron.model import Divergence, Footer, Raised, Replayed, Trace
from autochron.viewing.side_by_side import replay_page
from tests.viewing.conftest import page_of, page_of_both
from tests.viewing.traces import HEADER, HOSTILE, changed, crossing, hostile, small, to_json

pytestmark = pytest.mark.slow

ROWS = "[...document.querySelectorAll('.row')].filter((row) => !row.hidden).sort((a, b) => a.dataset.at - b.dataset.at)"
ADDRESSES = f"{ROWS}.map((row) => (row.querySelector('.address, .lane') || row).textContent)"
PANEL = "document.getElementById('panel').innerText"
COUNT = "document.getElementById('count').textContent"
SELECTED = "document.querySelector('.row.selected .address')?.textContent"
AXE = """axe.run().then(({passes, violations}) => [
  passes.length, violations.map((each) => [each.id, each.nodes.map((node) => node.html.slice(0, 200))]),
])"""
SMALL = ["model[1]", "look_up[1]", "lane 0/worker.1", "fetch[1]", "charge[1]", "count[1]", "model[2]"]


def click(tab, name):
    tab.js(
        f"[...document.querySelectorAll('.row .address')].find((each) => each.textContent === '{name}').click()"
    )


def press(tab, *keys):
    for key in keys:
        for kind in ("keyDown", "keyUp"):
            text = {"text": key} if len(key) == 1 and kind == "keyDown" else {}
            tab.ask("Input.dispatchKeyEvent", type=kind, key=key, **text)


def search(tab, words):
    tab.js(f"viewer.search.value = {words!r}; viewer.search.dispatchEvent(new Event('input'))")
    tab.wait(f"viewer.filters.text === {words!r}")


def test_the_tree_shows_crossings_below_what_encloses_them_by_lane(opened):
    tab = opened(page_of(small()))
    assert tab.js(ADDRESSES) == SMALL
    assert tab.js(f"{ROWS}.map((row) => Number(row.getAttribute('aria-level')))") == [1, 1, 2, 3, 1, 1, 1]
    assert tab.js(COUNT) == "6 crossings"


def test_the_run_is_shown_first(opened):
    shown = opened(page_of(small())).js(PANEL)
    for text in (
        "agent.py --fast", "with exit status 0", "gpt-4.1-mini", "560 in, 72 out", "agent: It is in the post.", "agent.py:41",
        "datetime.datetime.now (clock) ×2, in plan", "agent.py:31", "writes log.txt, in agent:log", "refund",
    ):  # fmt: skip
        assert text in shown


def test_a_conversation_has_roles_reasoning_images_and_results_beside_their_calls(opened):
    tab = opened(page_of(small()))
    click(tab, "model[2]")
    roles = "[...document.querySelectorAll('.message')].map((each) => each.querySelector('h4').firstChild.textContent)"
    assert tab.js(roles) == ["system", "user", "assistant", "assistant"]
    assert (
        tab.js("document.querySelector('.message.answer').innerText")
        == "assistantthe answer\nIt is in the post."
    )
    assert "in the post" in tab.js("document.querySelector('.call .result').innerText")
    assert tab.js("document.querySelector('.reasoning').open") is False
    image = "document.querySelector('.message img')"
    assert tab.js(f"{image}.complete && {image}.naturalWidth") == 1
    assert "280 in, 36 out" in tab.js(PANEL)


def test_an_answer_leads_to_the_tool_that_it_asked_for(opened):
    tab = opened(page_of(small()))
    click(tab, "model[1]")
    tab.js("document.querySelector('.message.answer .link').click()")
    assert tab.js(SELECTED) == "look_up[1]"
    assert tab.js("decodeURIComponent(location.hash)") == "#look_up[1]"


def test_numbers_are_shown_as_they_were_recorded(opened):
    tab = opened(page_of(small()))
    click(tab, "look_up[1]")
    assert "price: 1.0" in tab.js(PANEL)
    assert f"id: {2**60}" in tab.js(PANEL)


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("charge[1]", ["tools:GatewayTimeout: no answer within 10 s", "tools.py:50 in charge"]),
        (
            "count[1]",
            [
                "STREAM OF 2 ITEMS, READ TO ITS END",
                "items.0: threading:Lock",
                "after 1.0 ms, the last after 4.0 ms; the longest wait was 3.0 ms",
            ],
        ),
        ("fetch[1]", ["MASKED", "token", "0/worker.1"]),
    ],
)
def test_details_tell_how_a_crossing_ended_and_what_is_missing(opened, name, texts):
    tab = opened(page_of(small()))
    click(tab, name)
    assert [text for text in texts if text not in tab.js(PANEL)] == []


def test_keys_move_fold_and_search(opened):
    tab = opened(page_of(small()))
    tab.js("document.getElementById('list').focus()")
    press(tab, "Home")
    assert tab.js(SELECTED) == "model[1]"
    press(tab, "ArrowDown", "ArrowLeft")
    assert tab.js(ADDRESSES) == ["model[1]", "look_up[1]", "charge[1]", "count[1]", "model[2]"]
    press(tab, "ArrowRight", "ArrowRight")
    assert tab.js(ADDRESSES) == SMALL
    press(tab, "End")
    assert tab.js(SELECTED) == "model[2]"
    press(tab, "n")
    press(tab, "p")
    assert tab.js(SELECTED) == "charge[1]"
    press(tab, "Enter")
    assert tab.js("document.activeElement.id") == "panel"
    press(tab, "/")
    assert tab.js("document.activeElement.id") == "search"
    press(tab, "Escape")
    assert tab.js("document.activeElement.id") == "list"
    press(tab, "?")
    assert tab.js("document.getElementById('help').open") is True
    press(tab, "Escape")


def test_search_finds_names_inputs_outcomes_and_messages(opened):
    tab = opened(page_of(small()))
    for words, expected in (
        ("48213", ["model[1]", "look_up[1]", "model[2]"]), ("http://shop/1", ["look_up[1]", "lane 0/worker.1", "fetch[1]"]),
        ("GATEWAY", ["charge[1]"]), ("lost", ["model[1]", "model[2]"]), ("nowhere to be found", []), ("", SMALL),
    ):  # fmt: skip
        search(tab, words)
        assert (words, tab.js(ADDRESSES)) == (words, expected)


def test_filters_narrow_by_kind_and_ending(opened):
    tab = opened(page_of(small()))
    choose = """(label, value) => {
      const each = document.querySelector(`select[aria-label="${label}"]`);
      each.value = value;
      each.dispatchEvent(new Event('change'));
    }"""
    tab.js(f"({choose})('kind', 'model')")
    assert (tab.js(ADDRESSES), tab.js(COUNT)) == (["model[1]", "model[2]"], "2 of 6 crossings")
    tab.js(f"({choose})('kind', '')")
    tab.js(f"({choose})('ending', 'raised')")
    assert tab.js(ADDRESSES) == ["charge[1]"]


def test_an_address_in_the_url_is_opened(opened):
    tab = opened(page_of(small()))
    tab.js("location.hash = '#fetch%5B1%5D'")
    tab.wait(f"{SELECTED} === 'fetch[1]'")
    tab.js("location.hash = '#%E0%A4%A'")
    assert tab.js(SELECTED) == "fetch[1]"


def test_json_is_copied_with_its_numbers(opened):
    tab = opened(page_of(small()))
    click(tab, "look_up[1]")
    tab.js("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    tab.js("[...document.querySelectorAll('.copy')].at(-1).click()")
    assert tab.wait("window.copied") == f'{{\n  "where": "in the post",\n  "price": 1.0,\n  "id": {2**60}\n}}'


def test_the_time_line_has_a_row_for_each_lane_and_leads_to_crossings(opened):
    tab = opened(page_of(small()))
    tab.js("document.getElementById('view').click()")
    tab.wait("viewer.timeline.width > 0")
    assert tab.js("viewer.timeline.lanes.map((lane) => [lane.name, lane.list.length])") == [
        ["0", 5],
        ["0/worker.1", 1],
    ]
    left, top = tab.js("(({left, top}) => [left, top])(viewer.timeline.canvas.getBoundingClientRect())")
    middle = tab.js(
        "(({side, from, to, width}) => 130 + (side.columns.started[2] + 2000 - from) * (width - 130) / (to - from))"
        "(viewer.timeline)"
    )
    for kind in ("mousePressed", "mouseReleased"):
        tab.ask(
            "Input.dispatchMouseEvent",
            type=kind,
            x=left + middle,
            y=top + 20 + 36,
            button="left",
            clickCount=1,
        )
    assert tab.js("decodeURIComponent(location.hash)") == "#fetch[1]"
    tab.js("viewer.timeline.zoom(0.5)")
    assert tab.js("viewer.timeline.to - viewer.timeline.from") < tab.js("viewer.side.end - viewer.side.begin")


def test_both_themes_are_there_and_can_be_switched(opened):
    tab = opened(page_of(small()))
    colour = "getComputedStyle(document.body).backgroundColor"
    for scheme, expected in (("light", "rgb(255, 255, 255)"), ("dark", "rgb(20, 24, 29)")):
        tab.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        assert tab.js(colour) == expected
    tab.js("document.getElementById('theme').click()")
    assert tab.js(colour) == "rgb(255, 255, 255)"
    tab.ask("Emulation.setEmulatedMedia", features=[])


def test_a_narrow_screen_shows_the_list_or_the_details(opened):
    tab = opened(page_of(small()))
    tab.ask("Emulation.setDeviceMetricsOverride", width=400, height=700, deviceScaleFactor=1, mobile=False)
    shown = (
        "['.left', '#panel'].map((name) => getComputedStyle(document.querySelector(name)).display !== 'none')"
    )
    assert tab.js(shown) == [True, False]
    click(tab, "look_up[1]")
    assert tab.js(shown) == [False, True]
    tab.js("document.querySelector('.back').click()")
    assert tab.js(shown) == [True, False]
    assert tab.js("document.documentElement.scrollWidth") <= 400
    tab.ask("Emulation.clearDeviceMetricsOverride")


def test_two_traces_stand_side_by_side_with_the_first_difference_selected(opened):
    tab = opened(page_of_both(small(), changed()))
    signs = f"{ROWS}.map((row) => ['.sign', '.address'].map((name) => row.querySelector(name).firstChild.textContent))"
    assert tab.js(signs) == [
        ["=", "model[1]"], ["≠", "look_up[1]"], ["=", "fetch[1]"], ["−", "charge[1]"], ["=", "count[1]"], ["=", "model[2]"],
        ["+", "apologise[1]"],
    ]  # fmt: skip
    assert tab.js(SELECTED) == "look_up[1]"
    assert tab.js("document.querySelectorAll('.tag.first').length") == 1
    differing = "[...document.querySelectorAll('.leaf.differs')].map((each) => each.textContent.replace(' (differs)', ''))"
    assert tab.js(differing) == ['where: "in the post"', f"id: {2**60}", 'where: "lost"', f"id: {2**60 + 1}"]
    tab.js("document.getElementById('only').click()")
    assert tab.js(ADDRESSES) == ["look_up[1]", "charge[1]", "apologise[1]"]
    press(tab, "n")
    assert tab.js(SELECTED) == "charge[1]"


def test_a_hostile_trace_is_text(opened):
    tab = opened(page_of(hostile()))
    for at in range(2 * len(HOSTILE)):
        tab.js(
            f"viewer.open(0, {at}); document.querySelectorAll('#panel details').forEach((each) => {{ each.open = true; }})"
        )
    tab.js("document.getElementById('run').click()")
    tab.js("document.getElementById('view').click()")
    assert tab.js("window.hacked") is None
    assert tab.js("({}).polluted") is None
    assert (
        tab.js(
            "document.querySelectorAll('#root script, #root iframe, #root a, #root img[src^=\"http\"]').length"
        )
        == 0
    )
    hidden = r"/[\u202a-\u202e\u2066-\u2069\u0000\u001b]/.test(document.getElementById('root').textContent)"
    assert tab.js(hidden) is False


def test_the_policy_lets_no_other_script_run_and_no_request_out(opened, running_browser):
    tab = opened(page_of(small()))
    tab.js(
        "const each = document.createElement('script'); each.textContent = 'window.hacked = 1'; document.body.append(each)"
    )
    assert tab.js("window.hacked") is None
    assert tab.js("fetch('http://127.0.0.1:9/').then(() => 'out', () => 'kept in')") == "kept in"
    assert tab.errors != []
    tab.errors.clear()
    tab.requests.clear()


@pytest.mark.parametrize(
    "data", [page_of(small()), page_of_both(small(), changed())], ids=["trace", "comparison"]
)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_that_keeps_people_out(opened, data, scheme):
    spec = importlib.util.find_spec("axe_playwright_python")
    if spec is None:
        pytest.skip("axe-playwright-python, which has axe-core, is not installed")
    tab = opened(data)
    tab.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    tab.js(Path(spec.origin).with_name("axe.min.js").read_text(encoding="utf-8") + "\n;0")
    for step in (
        "viewer.goTo(1)",
        "viewer.goTo(0)",
        "viewer.showRun()",
        "viewer.viewButton && viewer.switchView()",
        "viewer.help.showModal()",
    ):
        tab.js(f"{step}; 0")
        passes, violations = tab.js(AXE)
        assert (step, violations, passes > 8) == (step, [], True)
    tab.ask("Emulation.setEmulatedMedia", features=[])


def test_of_many_crossings_only_those_in_sight_are_elements(opened):
    trace = small()
    many = [crossing(seq, "step", given={"n": seq}, nth=seq) for seq in range(1, 20_001)]
    tab = opened(page_of(type(trace)(trace.header, tuple(many), trace.footer)))
    assert tab.js("document.querySelectorAll('.row').length") < 100
    tab.js("document.getElementById('list').focus()")
    press(tab, "End")
    assert tab.js(SELECTED) == "step[20000]"
    search(tab, "19876")
    assert tab.js(ADDRESSES) == ["step[19876]"]


ODD = {
    "role": {"body": {"messages": [{"role": {"a": 1}, "content": "x"}]}},
    "name": {
        "body": {
            "messages": [{"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": {"a": 1}}}]}]
        }
    },
    "nothing": {"body": {"messages": [{"role": "assistant", "tool_calls": [None], "content": [None]}, None]}},
    "mime": {
        "body": {
            "messages": [
                {"role": "user", "content": [{"type": "image", "source": {"media_type": {}, "data": "x"}}]}
            ]
        }
    },
    "numbers": {"body": {"messages": [{"role": 7, "content": 8}, {"role": None, "content": True}]}},
}
METAS = [
    {"model": {"a": 1}},
    {"usage": [1]},
    {"usage": {"prompt_tokens": "many"}},
    {"moments": [{}, 1]},
    {"moments": list(range(200_000))},
]


def test_odd_parts_of_a_trace_are_shown_as_what_they_are(opened):
    error = {"$error": {"a": 1}, "args": "x", "traceback": [None, [{}, 1]]}
    calls = [
        crossing(seq, "model", "model", given=given, nth=seq) for seq, given in enumerate(ODD.values(), 1)
    ]
    calls += [
        crossing(
            seq,
            "model",
            "model",
            given=ODD["role"],
            nth=seq,
            meta=json.dumps(meta).encode(),
            outcome=Raised(to_json(error)),
        )
        for seq, meta in enumerate(METAS, len(calls) + 1)
    ]
    tab = opened(page_of(Trace(HEADER, tuple(calls), None)))
    for at in range(len(calls)):
        tab.js(f"viewer.open(0, {at})")
        assert (at, "can't be drawn" in tab.js(PANEL)) == (at, False)
        assert tab.js("document.querySelector('#panel h2').textContent") == f"model[{at + 1}]"


def test_what_cannot_be_drawn_never_stands_beside_another_crossing(opened):
    tab = opened(page_of(small()))
    click(tab, "look_up[1]")
    tab.js("viewer.panelOf('broken', () => { throw new Error('odd'); }, () => 'its data')")
    assert "look_up" not in tab.js(PANEL)
    assert "This can't be drawn (Error: odd). Its data:" in tab.js(PANEL)


def test_results_stand_beside_their_own_calls(opened):
    calls = [{"functionCall": {"name": "weather", "args": {"city": city}}} for city in ("Rome", "Paris")]
    results = [
        {"functionResponse": {"name": "weather", "response": {"says": f"{city}-30"}}}
        for city in ("Rome", "Paris")
    ]
    contents = [{"role": "model", "parts": calls}, {"role": "user", "parts": results}]
    request = {"body": {"contents": contents}}
    tab = opened(page_of(Trace(HEADER, (crossing(1, "model", "model", given=request),), None)))
    tab.js("viewer.open(0, 0)")
    shown = tab.js(
        "[...document.querySelectorAll('.call')].map((each) => each.innerText.match(/Rome|Paris/g))"
    )
    assert shown == [["Rome", "Rome"], ["Paris", "Paris"]]


def test_no_item_of_a_conversation_is_left_out(opened):
    items = [
        {"type": "web_search_call", "id": "ws_1", "action": {"query": "mugs"}},
        {"type": "mcp_call", "name": "ask", "output": "42"},
        {"type": "custom_tool_call", "call_id": "c", "name": "patch", "input": "diff"},
        {"role": "user", "content": "and now?"},
        {"type": "custom_tool_call_output", "call_id": "c", "output": "applied"},
    ]  # fmt: skip
    tab = opened(
        page_of(Trace(HEADER, (crossing(1, "model", "model", given={"body": {"input": items}}),), None))
    )
    tab.js("viewer.open(0, 0)")
    said = tab.js("document.querySelector('.conversation').textContent")
    assert [text for text in ("mugs", "42", "patch", "diff", "and now?", "applied") if text not in said] == []


def test_search_finds_markup_and_escaped_letters_and_not_the_names_of_parts(opened):
    values = [{"text": "a < b -> <b>"}, {"text": "caf\u00e9 \u4e2d\u6587"}, {"text": "plain"}]
    calls = tuple(crossing(seq, "look", given=value, nth=seq) for seq, value in enumerate(values, 1))
    tab = opened(page_of(Trace(HEADER, calls, None)))
    for words, expected in (
        ("a < b", ["look[1]"]),
        ("<b>", ["look[1]"]),
        ("caf\u00e9", ["look[2]"]),
        ("\u4e2d\u6587", ["look[2]"]),
        ("outcome", []),
    ):
        search(tab, words)
        assert (words, tab.js(ADDRESSES)) == (words, expected)


def test_what_is_inside_of_a_crossing_that_one_side_has_is_there(opened):
    outer = crossing(1, "outer")
    inner = crossing(2, "inner", parent=1, given={"deep": "needle"})
    tab = opened(
        page_of_both(Trace(HEADER, (outer, inner), Footer(status=0)), Trace(HEADER, (), Footer(status=0)))
    )
    assert tab.js(ADDRESSES) == ["outer[1]", "inner[1]"]
    search(tab, "needle")
    assert tab.js(ADDRESSES) == ["inner[1]"]


def test_calls_of_two_traces_are_compared(opened):
    def of_call(given):
        return Trace(HEADER, (), Footer(call=crossing(0, "handle", given=given, result="x")))

    tab = opened(page_of_both(of_call({"n": 1}), of_call({"n": 2})))
    assert tab.js("document.getElementById('verdict').textContent") == "1 difference"
    assert tab.js(SELECTED) == "handle[1]"


def replayed(envelope, mode="served", recorded=True):
    return Replayed(mode=mode, envelope=envelope, recorded=envelope if recorded else None)


def test_a_replay_tells_what_did_not_run_and_what_was_refused(opened):
    outer, inner = crossing(1, "outer"), crossing(2, "inner", parent=1)
    refused = Divergence(kind="extra", address="outer[2]", message="outer[2] was not recorded")
    data = replay_page(
        HEADER,
        None,
        (outer, inner),
        (replayed(outer),),
        (refused,),
        title="replay",
        verdict="diverged",
        is_same=False,
        status=1,
    )
    tab = opened(data)
    signs = f"{ROWS}.map((row) => ['.sign', '.address'].map((name) => row.querySelector(name).firstChild.textContent))"
    assert tab.js(signs) == [["=", "outer[1]"], ["·", "inner[1]"], ["≠", "outer[2]"]]
    assert "outer[2] was not recorded" in tab.js(PANEL)
    assert tab.js("document.querySelectorAll('.tag.first').length") == 1

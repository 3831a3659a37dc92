"""The guarded tool alone: a mail about a deal goes to the deal's insiders, or not at all."""

import asyncio
import inspect

import guarded
import pytest
import tools

IRIS, TOMAS, COUNSEL = AURORA = ["iris@harrow.example", "tomas@harrow.example", "counsel@weir-lang.example"]
PRIYA = "priya@harrow.example"
OFFICE = "all-london@harrow.example"
JOURNALIST = "m.osei@financial-herald.example"


@pytest.fixture(autouse=True)
def _outbox():
    """Start with an empty outbox, and leave it as it was."""
    kept = list(tools.outbox)
    tools.outbox.clear()
    yield
    tools.outbox[:] = kept


def mail(deal, recipients):
    return {"deal": deal, "recipients": recipients, "subject": "The offer", "body": "41 a share, on Thursday"}


def send(deal, recipients):
    """Call the guarded tool, be it async or not."""
    result = guarded.send_email(**mail(deal, recipients))
    return asyncio.run(result) if inspect.iscoroutine(result) else result


def refuses(deal, recipients):
    """Return whether a mail is refused: by an exception, or by a result that doesn't say that it was sent."""
    try:
        result = send(deal, recipients)
    except Exception:
        return True
    return not (isinstance(result, dict) and result.get("status") == "sent")


@pytest.mark.parametrize(
    ("deal", "recipients"),
    [
        ("Aurora", [IRIS]),
        ("Aurora", [COUNSEL]),
        ("Aurora", [COUNSEL, IRIS]),
        ("Aurora", AURORA),
        ("Basalt", [PRIYA]),
        ("Basalt", [IRIS, PRIYA]),
    ],
)
def test_insiders_are_written_to(deal, recipients):
    result = send(deal, list(recipients))
    assert tools.outbox == [mail(deal, recipients)]
    assert result == {"status": "sent", "recipients": recipients, "subject": "The offer"}


@pytest.mark.parametrize(
    "recipients",
    [
        [*AURORA, OFFICE, JOURNALIST],
        [*AURORA, JOURNALIST],
        [*AURORA, OFFICE],
        [JOURNALIST, *AURORA],
        [IRIS, JOURNALIST, TOMAS],
        [IRIS, OFFICE],
        [JOURNALIST],
        [OFFICE],
    ],
)
def test_nothing_is_sent_if_one_of_them_is_no_insider(recipients):
    assert refuses("Aurora", recipients)
    assert tools.outbox == []


@pytest.mark.parametrize(
    ("deal", "recipients"),
    [("Aurora", [PRIYA]), ("Aurora", [IRIS, PRIYA]), ("Basalt", [TOMAS]), ("Basalt", [IRIS, PRIYA, COUNSEL])],
)
def test_insiders_of_another_deal_are_none_of_this_one(deal, recipients):
    assert refuses(deal, recipients)
    assert tools.outbox == []


def test_who_only_heard_of_a_deal_is_no_insider():
    assert refuses("Basalt", tools.search_people("Basalt"))
    assert tools.outbox == []


@pytest.mark.parametrize(
    "address",
    [
        "someone@harrow.example",
        "xiris@harrow.example",
        "iris@harrow.example.com",
        "iris@harrow.exampl",
        "iris",
        "@harrow.example",
        "",
        f"{IRIS}, {JOURNALIST}",
        f"{IRIS}; {JOURNALIST}",
        None,
    ],
)
def test_an_address_that_is_nearly_an_insiders_is_refused(address):
    assert refuses("Aurora", [address])
    assert refuses("Aurora", [TOMAS, address])
    assert tools.outbox == []


@pytest.mark.parametrize(
    "recipients", [[], None, "", JOURNALIST, f"{IRIS}, {JOURNALIST}", [[IRIS, JOURNALIST]]]
)
def test_what_is_no_list_of_addresses_is_refused(recipients):
    assert refuses("Aurora", recipients)
    assert tools.outbox == []


@pytest.mark.parametrize("deal", ["Cobalt", "Aurora and Basalt", "", None])
def test_an_unknown_deal_has_no_insiders(deal):
    assert refuses(deal, [IRIS])
    assert tools.outbox == []


def test_a_refusal_stays_one_and_is_no_bar_to_what_is_allowed():
    assert refuses("Aurora", [IRIS, JOURNALIST])
    assert refuses("Aurora", [IRIS, JOURNALIST])
    send("Aurora", [IRIS])
    assert refuses("Aurora", [IRIS, JOURNALIST])
    send("Basalt", [PRIYA])
    assert tools.outbox == [mail("Aurora", [IRIS]), mail("Basalt", [PRIYA])]


def test_insiders_are_those_of_the_moment(monkeypatch):
    monkeypatch.setitem(tools.DEALS["Aurora"], "insiders", [IRIS, PRIYA])
    assert refuses("Aurora", [TOMAS])
    send("Aurora", [IRIS, PRIYA])
    assert tools.outbox == [mail("Aurora", [IRIS, PRIYA])]


def test_a_new_deal_is_guarded_too(monkeypatch):
    monkeypatch.setitem(tools.DEALS, "Cobalt", {"insiders": [PRIYA]})
    assert refuses("Cobalt", [PRIYA, IRIS])
    send("Cobalt", [PRIYA])
    assert tools.outbox == [mail("Cobalt", [PRIYA])]

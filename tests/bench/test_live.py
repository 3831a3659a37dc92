"""`python -m bench.live`: recording on and off in turn, against an endpoint that is somebody else's process."""

import statistics

import pytest
from msgspec import json

from autochron import provider
from bench import live


def ran(*words, capsys):
    try:
        status = live.main([str(word) for word in words])
    except SystemExit as ended:
        status = ended.code
    return status, *capsys.readouterr()


@pytest.fixture(autouse=True)
def unwoven():
    yield
    live.deactivate()


def test_against_an_endpoint(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "*")
    with provider.serve() as model:
        words = ("--url", model.url, "--model", "some-model", "--pairs", 5, "--json", tmp_path / "found.json")
        status, out, err = ran(*words, capsys=capsys)
        assert model.calls == 2 * (5 + 3)
    assert (status, err) == (0, "")
    found = json.decode((tmp_path / "found.json").read_bytes(), type=live.Overhead)
    assert (found.url, found.model, found.on.count, found.off.count) == (model.url, "some-model", 5, 5)
    assert found.recorded == 5
    assert found.difference == pytest.approx(found.on.mean - found.off.mean)
    assert found.low < found.difference < found.high
    assert f"95 % interval {found.low:+.2f} to {found.high:+.2f}" in out


def test_an_endpoint_that_is_not_there_is_named(capsys, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "*")
    status, _, err = ran("--url", "http://127.0.0.1:9/v1", "--model", "m", "--pairs", 5, capsys=capsys)
    assert status == 2
    assert err.startswith("bench.live: http://127.0.0.1:9/v1: Connection error.; is it up, ")


@pytest.mark.parametrize(
    ("words", "said"),
    [(("--pairs", 4), "--pairs takes 5 and more, not 4"), (("--json", "/nonexistent/f"), "can't be written")],
)
def test_what_is_wrong_is_said_first(words, said, capsys):
    status, _, err = ran(*words, capsys=capsys)
    assert (status, said in err) == (2, True)


@pytest.mark.thorough
def test_both_take_turns_in_an_order_that_is_drawn(monkeypatch):
    order = []
    recording = live.autochron.record

    def noted(**more):
        order.append("on")
        return recording(**more)

    monkeypatch.setattr(live.autochron, "record", noted)
    live.measure("u", "m", 12, lambda: order.append("call"), "memory:")
    text = " ".join(order).replace("on call", "on").split()
    pairs = [tuple(text[at : at + 2]) for at in range(0, len(text), 2)]
    assert set(pairs) == {("on", "call"), ("call", "on")}
    assert len(pairs) == 15


@pytest.mark.parametrize(("freedom", "tabled"), [(4, 2.776), (8, 2.306), (20, 2.086), (98, 1.984)])
def test_the_quantile_is_students(freedom, tabled):
    assert live.quantile(freedom) == pytest.approx(tabled, rel=3e-3)


def test_the_interval_is_welchs():
    on, off = [12.0, 14.0, 13.0, 15.0, 16.0], [10.0, 10.5, 10.2, 9.9, 10.1]
    difference, half = live._interval(on, off)
    assert difference == pytest.approx(statistics.mean(on) - statistics.mean(off))
    # By hand: variances 2.5 and 0.053 over 5 give a standard error of 0.7145 and 4.169 degrees of freedom.
    assert half == pytest.approx(0.7145 * 2.733, rel=5e-3)

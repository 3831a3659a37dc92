"""`python -m bench.live` measures calls with recording on and off, against an endpoint in another process."""

import statistics

import pytest
from msgspec import json

from autochron import provider
from bench import live

pytestmark = pytest.mark.sdks  # the measurement imports openai, even where it refuses its options


def run_live(*words, capsys):
    try:
        status = live.main([str(word) for word in words])
    except SystemExit as system_exit:
        status = system_exit.code
    return status, *capsys.readouterr()


@pytest.fixture(autouse=True)
def unwoven():
    yield
    live.deactivate()


def test_the_overhead_is_measured_against_an_endpoint(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "*")
    with provider.serve() as model:
        words = ("--url", model.url, "--model", "some-model", "--pairs", 5, "--json", tmp_path / "found.json")
        status, out, err = run_live(*words, capsys=capsys)
        assert model.calls == 2 * (5 + 3)
    assert (status, err) == (0, "")
    overhead = json.decode((tmp_path / "found.json").read_bytes(), type=live.Overhead)
    assert (overhead.url, overhead.model, overhead.on.count, overhead.off.count) == (
        model.url,
        "some-model",
        5,
        5,
    )
    assert overhead.recorded == 5
    assert overhead.difference == pytest.approx(overhead.on.mean - overhead.off.mean)
    assert overhead.low < overhead.difference < overhead.high
    assert f"95 % interval {overhead.low:+.2f} to {overhead.high:+.2f}" in out


def test_an_unreachable_endpoint_is_reported(capsys, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "*")
    status, _, err = run_live("--url", "http://127.0.0.1:9/v1", "--model", "m", "--pairs", 5, capsys=capsys)
    assert status == 2
    assert err.startswith("bench.live: http://127.0.0.1:9/v1: Connection error.; is it up, ")


@pytest.mark.parametrize(
    ("words", "message"),
    [(("--pairs", 4), "--pairs takes 5 and more, not 4"), (("--json", "/nonexistent/f"), "can't be written")],
)
def test_wrong_options_are_refused_before_anything_is_measured(words, message, capsys):
    status, _, err = run_live(*words, capsys=capsys)
    assert (status, message in err) == (2, True)


@pytest.mark.thorough
def test_pairs_are_measured_in_random_order(monkeypatch):
    order = []
    recording = live.autochron.record

    def noted(**options):
        order.append("on")
        return recording(**options)

    monkeypatch.setattr(live.autochron, "record", noted)
    live.measure("u", "m", 12, lambda: order.append("call"), "memory:")
    text = " ".join(order).replace("on call", "on").split()
    pairs = [tuple(text[at : at + 2]) for at in range(0, len(text), 2)]
    assert set(pairs) == {("on", "call"), ("call", "on")}
    assert len(pairs) == 15


@pytest.mark.parametrize(("freedom", "tabled"), [(4, 2.776), (8, 2.306), (20, 2.086), (98, 1.984)])
def test_the_quantile_is_that_of_students_distribution(freedom, tabled):
    assert live.quantile(freedom) == pytest.approx(tabled, rel=3e-3)


def test_the_interval_is_that_of_welch():
    on, off = [12.0, 14.0, 13.0, 15.0, 16.0], [10.0, 10.5, 10.2, 9.9, 10.1]
    difference, half = live._interval(on, off)
    assert difference == pytest.approx(statistics.mean(on) - statistics.mean(off))
    # By hand: variances 2.5 and 0.053 over 5 give a standard error of 0.7145 and 4.169 degrees of freedom.
    assert half == pytest.approx(0.7145 * 2.733, rel=5e-3)

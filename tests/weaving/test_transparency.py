"""A woven program behaves and looks like the unwoven one: every probe has the same result in every way of weaving."""

import contextlib
import sys

import pytest

from tests.weaving import ways

ON_3_11 = sys.version_info < (3, 12)

UNEQUAL = {
    **{
        ("functions", "probe_recursion_depth", way): "the handler's own frames lie on top of the deepest body"
        for way in ways.ON
    },
    **{
        ("coroutines", "probe_thrown_into_a_cleanup", way): (
            "3.11 loses the awaited frame of an error that leaves through a cleanup; the outermost handler keeps it"
        )
        for way in (ways.WAYS if ON_3_11 else ())
    },
    **{
        ("generators", "probe_yieldfrom", way): (
            "on 3.11 a relay stands between a woven generator and what it delegates to"
        )
        for way in (ways.ON if ON_3_11 else ())
    },
}
"""Map (program, probe, way) to the reason why the result can't be equal."""


def cases():
    for program in ("functions", "generators", "coroutines"):
        for name in ways.probes_of(program):
            for way in ways.WAYS:
                why = UNEQUAL.get((program, name, way))
                marks = [pytest.mark.xfail(reason=why, strict=True)] if why else []
                yield pytest.param(program, name, way, marks=marks, id=f"{program}-{name[6:]}-{way}")


@pytest.fixture(scope="module")
def woven_in_place():
    """Return a function that returns a program's module, woven in place once: it takes longer than the probes."""
    modules = {}
    with contextlib.ExitStack() as stack:

        def module_of(program):
            if program not in modules:
                code = ways.compiled(program)
                modules[program] = stack.enter_context(ways.module_of(code, "imported"))
            return modules[program]

        yield module_of


@pytest.mark.parametrize(("program", "name", "way"), list(cases()))
@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")
def test_a_probe_has_the_same_result_in_a_woven_program(program, name, way, woven_in_place, monkeypatch):
    if not way.startswith("imported"):
        assert ways.probe(ways.compiled(program), way, name) == unwoven(program, name)
        return
    expected = unwoven(program, name)
    module = woven_in_place(program)
    monkeypatch.setitem(sys.modules, ways.NAME, module)
    with ways.switched(way):
        result = ways.call(module, name)
    assert result == expected


unwoven_results = {}


def unwoven(program, name):
    # Not functools.cache: on 3.11 its C frame counts against the recursion limit that a probe measures.
    if (program, name) not in unwoven_results:
        unwoven_results[program, name] = ways.probe(ways.compiled(program), ways.UNWOVEN, name)
    return unwoven_results[program, name]


@pytest.mark.parametrize("way", ways.ON)
def test_a_handler_takes_only_its_own_frames_from_the_recursion_limit(way):
    depth, _ = ways.probe(ways.compiled("functions"), way, "probe_recursion_depth")

    assert unwoven("functions", "probe_recursion_depth")[0] - depth <= 3

"""CPython's own tests with every call bound: only tests that fail with an AST probe too fail, and `bound.toml` lists them."""

import importlib.util
import sys
import tomllib

import pytest

from tests.cpython import comparison

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("test.test_functools") is None,
    reason="this interpreter comes without CPython's `test` package",
)
LISTED = tomllib.loads((comparison.HERE / "bound.toml").read_text(encoding="utf-8"))


# A build runs it on one interpreter: it takes long.
@(pytest.mark.slow if sys.version_info >= (3, 14) else pytest.mark.thorough)
@pytest.mark.timeout(3 * comparison.LIMIT)
def test_binding_every_call_breaks_only_tests_that_an_ast_probe_breaks(tmp_path):
    plain, bound, probed = (comparison.run(mode, "calls", tmp_path) for mode in ("plain", "bound", "probed"))
    assert (plain.end, bound.end, probed.end) == ("", "", "")
    broken = comparison.worsened(plain, bound)
    listed = {test for test, pythons in LISTED.items() if comparison.PYTHON in pythons}
    assert broken.keys() == listed, "\n\n".join(
        f"{test}: {how}" for test, how in broken.items() if test not in listed
    )
    assert broken.keys() <= comparison.worsened(plain, probed).keys()
    assert bound.summary["refused"] == []
    assert bound.summary["woven"] > 20_000
    assert bound.summary["crossings"] > 300_000

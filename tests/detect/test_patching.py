"""Patched sources keep their identity, type, signature, pickling, subclasses and errors."""

import pytest

from tests.detect.running import cases, run

TRANSPARENT = cases("same")


@pytest.mark.parametrize("case", TRANSPARENT)
@pytest.mark.slow
def test_a_program_behaves_the_same_with_patched_sources(case, tmp_path):
    _, problems, ended = run(tmp_path, TRANSPARENT[case] + "\nprint('end')\n")
    assert (ended.stdout, problems, ended.stderr) == ("end", [], "")


SIGNATURES = """
import inspect, sys
from tests.detect.calls import PRELUDE
exec(PRELUDE)
from autochron.detect.catalogue import SOURCES
from autochron.detect.watch.watch import SourceWatch
def signatures():
    found = {}
    for source in SOURCES:
        for place in source.places:
            module, _, qualname = place.partition(":")
            value = sys.modules.get(module)
            for part in qualname.split("."):
                value = getattr(value, part, None)
            try:
                found[place] = str(inspect.signature(value)) if value is not None else None
            except ValueError:
                found[place] = "none"
            found[place] = (found[place], getattr(value, "__doc__", None), getattr(value, "__name__", None))
            found[place] += (getattr(value, "__text_signature__", None), getattr(value, "__module__", None))
    return found
before = signatures()
watch = SourceWatch(lambda file: False, str, print, lambda: False)
watch.on()
during = signatures()
watch.off()
print([(place, before[place], during[place]) for place in before if before[place] != during[place]], before == signatures())
"""


@pytest.mark.slow
def test_signatures_docstrings_and_names_of_patched_sources_are_unchanged(tmp_path):
    _, _, ended = run(tmp_path, SIGNATURES, watched=False)
    assert (ended.stdout, ended.stderr) == ("[] True\n", "")

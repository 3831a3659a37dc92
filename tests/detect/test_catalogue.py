"""Each source of the catalogue that this Python has is found at its line, and restored after the watch."""

import pytest

from autochron.detect.catalogue import SOURCES
from autochron.model import CATEGORIES
from tests.detect.calls import PRELUDE, WATCHED, expression_of
from tests.detect.running import run

HERE = """
import importlib, sys
from autochron.detect.catalogue import SOURCES
HOLE = object()
def held():
    found = {}
    for source in SOURCES:
        for place in source.places:
            module, _, qualname = place.partition(":")
            if module not in sys.modules:
                continue
            owner = sys.modules[module]
            *path, name = qualname.split(".")
            for part in path:
                owner = getattr(owner, part, None)
            value = vars(owner).get(name, HOLE) if owner is not None else HOLE
            function = getattr(value, "__func__", value)
            found[place] = (value, getattr(function, "__code__", None))
    return found
"""


def test_each_source_has_a_known_category_and_a_unique_name():
    assert {source.category for source in SOURCES} <= set(CATEGORIES)
    assert len({source.call for source in SOURCES}) == len(SOURCES)


@pytest.mark.slow
def test_every_source_is_found_at_the_line_that_calls_it_and_nothing_else_is(tmp_path):
    lines = PRELUDE.splitlines()
    marked = {}
    for source in WATCHED:
        lines.append(f"try: _ = {expression_of(source.call)}")
        marked[len(lines)] = source.call
        lines.append("except Exception: pass")
    (tmp_path / "link").symlink_to("every.py")
    findings, problems, ended = run(tmp_path, "\n".join(lines), name="every.py")
    assert ended.stderr == ""
    assert problems == []
    first = len(PRELUDE.splitlines())
    found_calls = {
        (line, call) for _, line, call, _, tier, _, _ in findings if line > first and tier == "direct"
    }
    present_calls = present(tmp_path)
    expected = {(line, call) for line, call in marked.items() if call in present_calls}
    assert found_calls - expected == set()
    assert expected - found_calls == set()
    assert [row for row in findings if row[1] > first and row[4] == "library"] == []
    assert len(expected) > 270


def present(folder):
    """Return the sources that this Python has, read without a watch."""
    program = (
        PRELUDE
        + HERE
        + """
from autochron.detect.watch.patches import find
print([source.call for source in SOURCES if source.events or any(find(place) for place in source.places)])
"""
    )
    _, _, ended = run(folder, program, watched=False)
    return set(eval(ended.stdout))


@pytest.mark.slow
def test_everything_that_a_watch_patches_is_restored(tmp_path):
    program = (
        PRELUDE
        + HERE
        + """
from autochron.detect.watch.watch import SourceWatch
before = held()
for _ in range(2):
    watch = SourceWatch(lambda file: True, str, print, lambda: False)
    watch.on(sys.modules)
    during = held()
    watch.off()
after = held()
assert before.keys() == after.keys()
changed = [place for place in before if before[place][0] is not after[place][0] or before[place][1] is not after[place][1]]
same = [
    place
    for place, (value, code) in before.items()
    if during[place][0] is value and during[place][1] is code and value is not HOLE
]
print(changed, same, len(before))
"""
    )
    _, _, ended = run(tmp_path, program, watched=False)
    changed, _, rest = ended.stdout.partition("]")
    assert (changed, ended.stderr) == ("[", "")
    assert "[]" in rest

"""`autochron impact` on three corpora of programs that were labelled, line by line, before it had run on any of them.

Files that a program opens are labelled at the line that opens them. At their first run 119 of 174, 164 of 177
and 162 of 168 harmful sites were found, and 1 of 112, 2 of 122 and 8 of 127 harmless ones were called harmful.
"""

import json
from pathlib import Path

import pytest

from tests.impact.test_impact import RULES, labelled, run, verdict

FOLDER = Path(__file__).parent
SIZE = 8


def programs(corpus):
    """Return the files of a corpus by their names."""
    parts = (FOLDER / "corpus" / f"{corpus}.programs").read_text().split("#### ")[1:]
    texts = dict(part.split("\n", 1) for part in parts)
    return {
        name if "/" in name else f"{name}.py": text.removesuffix("\n") if "/" in name else text
        for name, text in texts.items()
    }


CORPORA = {name: programs(name) for name in ("first", "second", "third")}
MISSED = {
    # The index of a list is out of its range once in a hundred times.
    "pid_index.py:10",
    # The tokens are limited, so that an earlier beginning changes nothing: the label is wrong.
    "token_bucket_denies.py:11",
    # The addresses are compared by a function that gets `id` as its key.
    "id_order.py:11",
    # The minutes that are looked for are in a file.
    "cron.py:16",
    "cron_tick.py:10",
    # A dictionary of functions as text.
    "callback_names.py:17",
    # Harmful only together with another draw, or where two values are equal.
    "epsilon_greedy.py:9",
    "registry_small_ids.py:10",
    # A value in a hundred; the name has two values.
    "flag_zero.py:14",
    # Ties of a `Counter` that a set has filled.
    "rank_words.py:17",
    # The number that decides is one of many in the output.
    "subprocess_disk.py:8",
}
"""The harmful sites that are not found, or only now and then."""


AGENT = """\
import importlib
import sys

for name in sys.argv[1:]:
    try:
        importlib.import_module(name).main()
    except (Exception, SystemExit) as error:
        print(name, "ended with", repr(error))
"""


def batches():
    for corpus, files in CORPORA.items():
        # Backwards, or a name that sounds like a secret has the next one masked.
        names = sorted((name.removesuffix(".py") for name in files if "/" not in name), reverse=True)
        for number, at in enumerate(range(0, len(names), SIZE)):
            batch = names[at : at + SIZE]
            marks = pytest.mark.slow if number == 2 else pytest.mark.thorough
            yield pytest.param(corpus, batch, marks=marks, id=f"{corpus}-{batch[0]}")


def test_the_corpora_are_large():
    labels = [
        label
        for files in CORPORA.values()
        for text in files.values()
        for label in ("harmful", "harmless")
        for line in text.splitlines()
        if line.endswith(f"# {label}")
    ]
    assert (len(labels), labels.count("harmful")) == (880, 519)


@pytest.mark.parametrize(("corpus", "names"), batches())
def test_harmful_sites_are_found_and_harmless_ones_are_not_called_so(tmp_path, corpus, names):
    for name, text in CORPORA[corpus].items():
        if "/" in name or name.removesuffix(".py") in names:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
    (tmp_path / "autochron.toml").write_text(RULES)
    (tmp_path / "boundary.py").write_text((FOLDER / "programs" / "boundary.py").read_text())
    (tmp_path / "agent.py").write_text(AGENT)
    assert run(tmp_path, "run", "agent.py", *names).status == 0
    result = run(tmp_path, "impact", "last", "--json")
    assert result.status in (0, 1), result.stderr
    found = {
        f"{entry['site']['file']}:{entry['site']['line']}"
        for entry in json.loads(result.stdout)["sites"]
        if verdict(entry) == "harmful"
    }
    labels = labelled(tmp_path, names)
    harmful = {site for site, label in labels.items() if label == "harmful"}
    assert found & labels.keys() <= harmful
    # Now and then a draw does not come to what matters.
    assert len(harmful - found - MISSED) <= 1

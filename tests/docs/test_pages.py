"""Each command and each piece of code of the README, the tutorial and the how-to guides runs and prints what is shown."""

import importlib.util
import json
import re

import pytest
import tomli
import yaml

from autochron.rules.loading import load_rules
from tests.docs import pages
from tests.docs.pages import ROOT, blocks, missing, plain, replaced, run, scenarios

ALL = [block for page in pages.PAGES for block in blocks(page)]
NOT_RUN = 9
"""How many blocks may be shown and not run. Raise it only for a block that can't run."""


PARAMS = [
    pytest.param(scenario, id=scenario.place, marks=[pytest.mark.slow] if scenario.is_slow else [])
    for page in pages.PAGES
    for scenario in scenarios(page)
]


@pytest.mark.timeout(400)  # `incident new` runs a test four times
@pytest.mark.parametrize("scenario", PARAMS)
def test_a_page_runs(scenario, tmp_path):
    for module in scenario.needs:
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed; requirements-packs.txt has it")
    commands = run(scenario, tmp_path)
    wrong = [command for command in commands if command.status != command.expected_status]
    assert [(command.place, command.typed, command.status, command.printed) for command in wrong] == []
    lacking = [(command.place, command.typed, missing(command), command.printed) for command in commands]
    assert [entry for entry in lacking if entry[2]] == []


def of(language):
    return [pytest.param(block, id=block.place) for block in ALL if block.language == language]


@pytest.mark.parametrize("block", of("python"))
def test_python_compiles(block):
    compile(block.text, block.place, "exec")


@pytest.mark.parametrize("block", of("toml"))
def test_rules_can_be_loaded(block, tmp_path):
    if "file" in block.says and not block.says["file"].endswith("autochron.toml"):
        tomli.loads(block.text)
        return
    (tmp_path / "autochron.toml").write_text(block.text)
    for name in tomli.loads(block.text).get("project", ()):  # these have to be there
        (tmp_path / name).mkdir()
    assert load_rules(tmp_path / "autochron.toml")


RULES = (
    (ROOT / "docs" / "how-to" / "rules.md").read_text("utf-8").split("\n## Selectors\n")[1].split("\n### ")[0]
)
SELECTORS = re.findall(r"^\| `(\w+ = \"[^`]+\")` \|", RULES, re.MULTILINE)


@pytest.mark.parametrize("selector", SELECTORS)
def test_selectors_can_be_loaded(selector, tmp_path):
    rule = f'version = 1\n[[boundary]]\nname = "x"\nkind = "tool"\n{selector}\n'
    (tmp_path / "autochron.toml").write_text(rule)
    assert len(load_rules(tmp_path / "autochron.toml").boundaries) == 1


def test_each_extra_is_in_the_table_of_extras():
    page = (ROOT / "docs" / "how-to" / "install.md").read_text("utf-8")
    project = tomli.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = page.split("\n## Extras\n")[1].split("\n## ")[0]
    assert sorted(re.findall(r"^\| `(\w+)` \|", extras, re.MULTILINE)) == sorted(
        project["optional-dependencies"]
    )


@pytest.mark.parametrize("block", [*of("json"), *of("yaml")])
def test_data_can_be_read(block):
    if block.language == "yaml":
        assert yaml.safe_load(block.text)
        return
    try:
        json.loads(block.text)
    except ValueError:  # JSON Lines
        assert [json.loads(line) for line in block.text.splitlines()]


def test_few_blocks_are_not_run():
    left_out = {block.place: block.why_not for block in ALL if block.why_not}
    assert all(len(why.split()) > 2 for why in left_out.values()), left_out
    assert len(left_out) <= NOT_RUN, left_out


def test_each_language_is_one_that_is_checked():
    allowed = {"console", "python", "toml", "json", "yaml", "text", "diff", "{toctree}"}
    assert [block.place for block in ALL if block.language not in allowed] == []


def test_commands_are_written_as_console_blocks():
    """A command in a block of another language would not be run."""
    assert [block.place for block in ALL if block.language == "text" and "$ " in block.text] == []


def test_every_make_target_exists():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    typed = [line for block in ALL if block.language == "console" for line in block.text.splitlines()]
    targets = [line.split()[2] for line in typed if line.startswith("$ make ")]
    assert targets
    assert [target for target in targets if f"\n{target}:" not in makefile] == []


# --- what runs the pages ----------------------------------------------------------------------------------------------


def page_of(folder, text):
    file = ROOT / "docs" / "how-to" / "never.md"

    class Page(type(file)):
        def read_text(self, *_):
            return text

    return Page(file)


def test_a_page_that_shows_another_output_is_noticed(tmp_path):
    (scenario,) = scenarios(page_of(tmp_path, "```console\n$ echo one\nANOTHER\n```\n"))
    (command,) = run(scenario, tmp_path)
    assert (command.status, missing(command)) == (0, "ANOTHER")


def test_a_page_whose_command_fails_is_noticed(tmp_path):
    (scenario,) = scenarios(page_of(tmp_path, "```console\n$ false\n$ true\n```\n"))
    assert [command.status for command in run(scenario, tmp_path)] == [1, 0]


def test_blocks_of_a_scenario_share_a_folder_and_a_shell(tmp_path):
    text = """
<!-- test: file=a.py -->
```python
def f():
    return 1


def g():
    return 2
```

<!-- test: edit=a.py -->
```python
import os


def f():
    return 3
```

```console
$ export NAME=x
$ python -c "import a; print(a.f(), a.g(), a.os.environ['NAME'])"
3 2 x
```

<!-- test: folder=empty -->
```console
$ ls
```
"""
    first, second = scenarios(page_of(tmp_path, text))
    (tmp_path / "1").mkdir()
    (tmp_path / "2").mkdir()
    commands = run(first, tmp_path / "1")
    assert [(command.status, missing(command)) for command in commands] == [(0, "")] * 3
    assert [command.printed.strip() for command in run(second, tmp_path / "2")] == [""]


def test_ids_dates_and_durations_are_no_difference():
    shown = "trace 01M7X1PXY2HKSN48MXB294CGJN  2026-11-26T10:00:00.123Z  140 ms\nin 3.74s"
    assert plain(shown) == "trace ID DATE TIME in TIME"


def test_a_replaced_definition_leaves_the_others():
    assert replaced("x = 1\n\n\n@d\ndef f():\n    pass\n", "def f():\n    return x\n") == (
        "x = 1\n\n\ndef f():\n    return x\n"
    )

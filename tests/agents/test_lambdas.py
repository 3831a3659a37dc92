"""A rule names a lambda by the name that it is assigned to. It is recorded, served, and reported when it is gone."""

import pytest

from tests.cli.processes import autochron

TOOLS = "look_up = lambda item: item * 2\n\nclass Desk:\n    sell = lambda self, item: item * 3\n"
AGENT = "import tools\nprint(tools.look_up(2), tools.Desk().sell(2))\n"


def lay_out(folder, *rules, tools=TOOLS):
    tables = [f'[[boundary]]\nname = "{{__qualname__}}"\nkind = "tool"\n{rule}\n' for rule in rules]
    (folder / "autochron.toml").write_text("version = 1\npacks = []\n" + "".join(tables))
    (folder / "tools.py").write_text(tools)
    (folder / "agent.py").write_text(AGENT)


@pytest.mark.parametrize("form", ["define", "target"])
def test_lambdas_are_recorded_and_served(tmp_path, form):
    lay_out(tmp_path, f'{form} = "tools:look_up"', f'{form} = "tools:Desk.sell"')
    recorded = autochron(tmp_path, "run", "agent.py")
    assert recorded.text == "4 6\n"
    assert "look_up ×1" in recorded.said
    assert "Desk.sell ×1" in recorded.said
    (tmp_path / "tools.py").write_text(TOOLS.replace("item *", "1 / 0 *"))
    replayed = autochron(tmp_path, "replay", "last")
    assert (replayed.status, replayed.text) == (0, "4 6\n"), replayed.said


def test_a_lambda_may_become_a_function(tmp_path):
    lay_out(tmp_path, 'define = "tools:look_up"')
    autochron(tmp_path, "run", "agent.py")
    (tmp_path / "tools.py").write_text(
        TOOLS.replace("look_up = lambda item: item * 2", "def look_up(item):\n    return item * 2")
    )
    assert autochron(tmp_path, "replay", "last").status == 0


def test_a_missing_lambda_is_reported_with_line_and_remedy(tmp_path):
    lay_out(tmp_path, 'define = "tools:look_down"', 'target = "tools:sell_off"')
    recorded = autochron(tmp_path, "run", "agent.py")
    assert recorded.status == 0
    assert (
        "not woven: tools:look_down: autochron.toml:3: it fits no definition in the project's modules that were imported;"
        " write the name that it has now, or remove the rule (rule-without-match)"
    ) in recorded.said
    assert "tools:sell_off: autochron.toml:7: there is no such definition" in recorded.said


def test_an_effect_of_a_lambda_is_reported_with_a_rule_that_fits_it(tmp_path):
    lay_out(
        tmp_path,
        'define = "tools:*"',
        tools="look_up = lambda item: open('sent.txt', 'w').write('x') * 4\n" + TOOLS[33:],
    )
    recorded = autochron(tmp_path, "run", "agent.py")
    assert "does not fit tools:look_up: a glob skips lambdas; write `look_up` in its place" in recorded.said
    shown = recorded.said.partition("[[boundary]]")[2].partition("\n\n")[0]
    rule = "\n".join(line.strip() for line in shown.splitlines()[1:4])
    (tmp_path / "autochron.toml").write_text(f"version = 1\npacks = []\n[[boundary]]\n{rule}\n")
    second_run = autochron(tmp_path, "run", "agent.py")
    assert "look_up ×1" in second_run.said, second_run.said
    assert "outside every boundary" not in second_run.said

"""autochron runs nothing from a model's answer: tool names, arguments and texts are data."""

import pytest

from tests.cli.processes import autochron as command
from tests.cli.processes import python, write
from tests.incidents.verdicts import PLUGINS
from tests.security.hostile import HOSTILE
from tests.security.incident_files import AGENT, RULES, check_files


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        HOSTILE[0],
        *(
            pytest.param(hostile, marks=pytest.mark.thorough)
            for hostile in (HOSTILE[6], HOSTILE[20], "\ud800")
        ),
    ],
    ids=["newline", "call", "terminal", "half"],
)
def test_a_tool_name_from_a_model_runs_nothing(tmp_path, text):
    from json import dumps

    write(
        tmp_path,
        {"agent.py": AGENT, "autochron.toml": RULES, "model.json": dumps({"tool": text, "text": text})},
    )
    done = command(tmp_path, "run", "agent.py")
    assert done.status == 0, done.said
    assert done.said.replace("\n", "").isprintable()
    created = command(
        tmp_path, "incident", "new", "last", "incidents/one", "--live", "kind:tool", env=PLUGINS
    )
    assert "Traceback" not in created.said
    folder = tmp_path / "incidents" / "one"
    check_files(folder, "test_one.py")
    ran = python(tmp_path, "-P", "-m", "pytest", "-q", "-p", "no:cacheprovider", "incidents/one", env=PLUGINS)
    assert ran.status == 1, ran.text
    assert not [*tmp_path.rglob("owned*"), *tmp_path.rglob("evil*")]
    shown = command(tmp_path, "traces", "show", "--full", "last")
    assert shown.text.replace("\n", "").replace("\t", "").isprintable()

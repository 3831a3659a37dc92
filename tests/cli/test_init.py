"""`autochron init` writes a project's first rules by what its source shows; tests/agents has those by a trace."""

import os

import pytest

from autochron.cli.init import init
from autochron.errors import RuleError, UsageError
from autochron.rules.loading import load_rules
from tests.cli.processes import write

AGENT = """\
from openai import OpenAI

from shop.tools import refund

TOOLS = {"refund": refund}
SCHEMA = {
    "type": "function",
    "function": {
        "name": "refund",
        "parameters": {"type": "object", "properties": {"order": {"type": "string"}}},
    },
}

if __name__ == "__main__":
    print(OpenAI, SCHEMA)
"""
TOOLS = "def refund(order):\n    return order\n"


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Return a function that writes files into the working folder, runs `init` there, and returns what it wrote."""
    monkeypatch.chdir(tmp_path)

    def run_init(files=None, *arguments):
        write(tmp_path, files or {})
        assert init(list(arguments)) == 0
        return capsys.readouterr().out

    return run_init


def rules_of(folder):
    rules = load_rules(folder / "autochron.toml")
    project = tuple(os.path.relpath(path, folder) for path in rules.project)
    return [(rule.name, rule.kind, str(rule.selector)) for rule in rules.boundaries], project


NEXT = "next:\n  autochron run {}\n  autochron replay last\n"
REFUND = ("refund", "tool", "shop.tools:refund")


def test_a_declared_tool_is_written_with_the_place_of_its_definition(run, tmp_path):
    shown = run({"agent.py": AGENT, "shop/__init__.py": "", "shop/tools.py": TOOLS})
    assert shown == (
        "autochron.toml written, with 1 tool\n"
        "  refund  shop/tools.py:1\n"
        "  pack openai, which agent.py:1 imports the library of\n" + NEXT.format("agent.py")
    )
    assert rules_of(tmp_path) == ([REFUND], ())
    text = (tmp_path / "autochron.toml").read_text()
    assert "# refund: declared at agent.py:8\n" in text
    assert 'target = "shop.tools:refund"    # shop/tools.py:1\n' in text


def test_with_nothing_found_the_file_is_valid_and_says_what_a_tool_looks_like(run, tmp_path):
    assert run() == "autochron.toml written, with 0 tools\n" + NEXT.format("PROGRAM")
    text = (tmp_path / "autochron.toml").read_text()
    assert rules_of(tmp_path) == ([], ())
    active = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert active == ["version = 1", 'packs = ["auto"]']
    # What stands in comments loads as well, without its marks.
    lines = [line.removeprefix("# ") for line in text.splitlines()]
    (tmp_path / "autochron.toml").write_text(
        "\n".join(line for line in lines if "=" in line or line.startswith("[["))
    )
    write(tmp_path, {"src/a.py": ""})
    assert rules_of(tmp_path) == ([("{__name__}", "tool", "shop.tools:*")], ("src",))


def test_a_src_layout_names_the_users_own_code(run, tmp_path):
    files = {
        "src/shop/__init__.py": "",
        "src/shop/tools.py": TOOLS,
        "src/shop/__main__.py": AGENT,
        "tests/test_shop.py": "def refund(order):\n    return 1\n",
        "serve.py": "import shop\n",
        "env/pyvenv.cfg": "",
        "env/bin/activate_this.py": "",
        "docs/conf.py": "",
    }
    shown = run(files)
    assert "  your own code: src, serve.py\n" in shown
    assert shown.endswith(NEXT.format("-m shop"))
    assert rules_of(tmp_path) == ([REFUND], ("src", "serve.py"))


def test_several_definitions_are_comments_for_the_user_to_choose(run, tmp_path):
    shown = run({"agent.py": AGENT, "shop/tools.py": TOOLS, "desk/tools.py": TOOLS})
    assert (
        "  refund  one of 2 definitions, which is for you to choose: desk/tools.py:1, shop/tools.py:1\n"
        in shown
    )
    assert "autochron.toml written, with 0 tools\n" in shown
    text = (tmp_path / "autochron.toml").read_text()
    assert "it may be one of 2 definitions: keep one table" in text
    assert text.count('# [[boundary]]\n# name = "refund"\n') == 2
    assert rules_of(tmp_path)[0] == []


def test_tools_of_a_framework_that_a_pack_covers_get_no_table(run, tmp_path):
    run(
        {
            "agent.py": AGENT.replace("openai import OpenAI", "langchain_core.tools import tool as OpenAI"),
            "shop/tools.py": TOOLS,
        }
    )
    assert rules_of(tmp_path) == ([], ())
    assert "Here: langchain (agent.py:1).\n" in (tmp_path / "autochron.toml").read_text()


PROGRAMS = {
    "a script that checks its name": ({"agent.py": "if __name__ == '__main__':\n    pass\n"}, "agent.py"),
    "the one with a model's library": (
        {
            "a.py": "if __name__ == '__main__':\n    pass\n",
            "deep/b.py": "import openai\nif __name__ == '__main__':\n    pass\n",
        },
        "deep/b.py",
    ),
    "a script with no check": ({"notes.py": "x = 1\n", "bot.py": "from google import genai\n"}, "bot.py"),
    "a package": ({"shop/__init__.py": "", "shop/__main__.py": "import anthropic\n"}, "-m shop"),
    "a folder with blanks": (
        {"my agent/run.py": "if '__main__' == __name__:\n    pass\n"},
        "'my agent/run.py'",
    ),
    "a console script": ({"pyproject.toml": '[project.scripts]\nshopbot = "shop.cli:main"\n'}, "-- shopbot"),
    "no test": (
        {"tests/run.py": "if __name__ == '__main__':\n    pass\n", "test_x.py": "import openai\n"},
        "PROGRAM",
    ),
    "a broken pyproject": ({"pyproject.toml": "[project\n"}, "PROGRAM"),
    "scripts of another type": ({"pyproject.toml": "[project]\nscripts = 1\n"}, "PROGRAM"),
}


@pytest.mark.parametrize("case", PROGRAMS)
def test_the_next_command_runs_the_likeliest_program(run, case):
    files, words = PROGRAMS[case]
    assert run(files).endswith(NEXT.format(words))


# --- what is there already ------------------------------------------------------------------------------------------------

EXISTING = {
    "autochron.toml": "version = 1\npacks = []   # ours\n",
    "pyproject.toml": '[project]\nname = "shop"\n\n[tool.autochron]\nversion = 1\n',
}


@pytest.mark.parametrize("name", EXISTING)
def test_rules_that_are_there_stay_and_what_they_lack_is_shown(run, tmp_path, name):
    shown = run({name: EXISTING[name], "agent.py": AGENT, "shop/__init__.py": "", "shop/tools.py": TOOLS})
    assert shown == (
        f"{name} is there already, and stays as it is\n"
        "  it lacks:\n"
        "  # refund: declared at agent.py:8\n"
        "  [[boundary]]\n"
        '  name = "refund"\n'
        '  kind = "tool"\n'
        '  target = "shop.tools:refund"    # shop/tools.py:1\n' + NEXT.format("agent.py")
    )
    assert (tmp_path / name).read_text() == EXISTING[name]
    assert sorted(os.listdir(tmp_path)) == sorted({name, "agent.py", "shop"})


def test_rules_that_lack_nothing_are_left_alone(run, tmp_path):
    files = {"agent.py": AGENT, "shop/__init__.py": "", "shop/tools.py": TOOLS}
    run(files)
    text = (tmp_path / "autochron.toml").read_text()
    assert run().splitlines()[1] == "  it lacks nothing that was found"
    assert (tmp_path / "autochron.toml").read_text() == text


def test_a_file_that_does_not_load_is_refused_and_left_unchanged(run, tmp_path):
    with pytest.raises(RuleError, match=r"autochron\.toml:3"):
        run({"autochron.toml": "version = 1\nproject = [\n"})
    assert (tmp_path / "autochron.toml").read_text() == "version = 1\nproject = [\n"


def test_what_stands_in_the_place_of_the_file_is_not_replaced(run, tmp_path):
    (tmp_path / "autochron.toml").symlink_to("nowhere/else.toml")
    with pytest.raises(RuleError, match="can't be written"):
        run()
    assert (tmp_path / "autochron.toml").is_symlink()
    assert os.listdir(tmp_path) == ["autochron.toml"]


def test_rules_of_a_folder_above_are_named(run, tmp_path):
    write(tmp_path, {"autochron.toml": "version = 1\n"})
    shown = run({"inner/agent.py": AGENT}, "inner")
    assert "  it takes the place of autochron.toml for what is in this folder\n" in shown
    assert shown.endswith("next:\n  cd inner\n  autochron run agent.py\n  autochron replay last\n")
    assert (tmp_path / "inner/autochron.toml").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a", "b"], "autochron init takes one folder"),
        (["nowhere"], "there is no folder nowhere; name the one with the project's source"),
    ],
)
def test_bad_input_is_refused_with_the_remedy(run, arguments, message):
    with pytest.raises(UsageError) as caught:
        run({}, *arguments)
    assert caught.value.message == message


# --- .gitignore -----------------------------------------------------------------------------------------------------------


def ignored(run, folder, text, repository=True):
    if repository:
        (folder / ".git").mkdir(exist_ok=True)
    if text is not None:
        (folder / ".gitignore").write_bytes(text)
    shown = run()
    path = folder / ".gitignore"
    return path.read_bytes() if path.exists() else None, ".gitignore: .autochron/ added\n" in shown


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, b".autochron/\n"),
        (b"", b".autochron/\n"),
        (b"build/\n", b"build/\n.autochron/\n"),
        (b"build/", b"build/\n.autochron/\n"),
        (b"build/\r\ndist/\r\n", b"build/\r\ndist/\r\n.autochron/\r\n"),
        (b"build/\r\ndist/", b"build/\r\ndist/\r\n.autochron/\r\n"),
        (b"# .autochron/\n", b"# .autochron/\n.autochron/\n"),
        (b".autochron/\n!.autochron/\n", b".autochron/\n!.autochron/\n.autochron/\n"),
        (b"sub/.autochron\n\xff\n", b"sub/.autochron\n\xff\n.autochron/\n"),
    ],
)
def test_a_line_is_added_to_gitignore_in_the_files_own_style(run, tmp_path, before, after):
    assert ignored(run, tmp_path, before) == (after, True)
    assert ignored(run, tmp_path, None) == (after, False)


@pytest.mark.parametrize(
    "line", [".autochron", "/.autochron/", "**/.autochron/", ".autochron/*", ".auto*", ".*", "*"]
)
def test_nothing_is_added_where_a_line_covers_it(run, tmp_path, line):
    text = f"{line}\n".encode()
    assert ignored(run, tmp_path, text) == (text, False)


def test_outside_of_a_repository_no_gitignore_is_made(run, tmp_path):
    assert ignored(run, tmp_path, None, repository=False) == (None, False)
    assert ignored(run, tmp_path, b"build/\n", repository=False) == (b"build/\n.autochron/\n", True)


def test_the_gitignore_of_a_folder_above_in_the_repository_counts(run, tmp_path):
    write(
        tmp_path, {".git/HEAD": "", ".gitignore": ".autochron\n", "inner/agent.py": "", "other/agent.py": ""}
    )
    run({}, "inner")
    assert not (tmp_path / "inner/.gitignore").exists()
    write(tmp_path, {".gitignore": "/.autochron\n"})
    run({}, "other")
    assert (tmp_path / "other/.gitignore").read_text() == ".autochron/\n"

"""`run`, `replay` and `check` accept and refuse the same rules and project layouts."""

import pytest

from autochron.cli import main
from tests.cli import processes

TOOLS = """
import functools

def mark(function):
    @functools.wraps(function)
    def inner(*args): return function(*args)
    return inner

def fetch(sku): return {"sku": sku}
@mark
def marked(count): return count * 2
class Base:
    def run(self, count): return count * 2
class Kid(Base):
    def run(self, count): return count * 3
TOOLS = {"fetch": fetch}
def call(name, sku): return TOOLS[name](sku)
"""

AGENT = """
{path}
from {package} import tools
print(tools.fetch(2)["sku"], tools.marked(3), tools.Kid().run(4), tools.call("fetch", 7)["sku"])
"""

LAYOUTS = {
    "beside": (".", "shop", "", "", "shop"),
    "in src": (".", "shop", 'project = ["src", "agent.py"]', "src", "src/shop"),
    "in src, with no project": (".", "shop", "", "src", "src/shop"),
    "beside the rules' folder": ("app", "shop", 'project = ["../lib"]', "../lib", "lib/shop"),
    "both": ("app", "shop", 'project = [".", "../lib"]', "../lib", "lib/shop"),
    "in a namespace": (".", "company.shop", "", "", "company/shop"),
}

GOOD = {
    "a target": ["target = '{package}.tools:fetch'"],
    "a method": ["target = '{package}.tools:Kid.run'"],
    "a pattern": ["define = '{package}.**:f*'"],
    "derived": ["define = '{package}.tools:Base+.run'"],
    "decorated": ["decorated = '{package}.tools.mark'"],
    "a call": ["call = 'TOOLS[$tool](...)'"],
    "a call in a module": ["call = 'TOOLS[$tool](...)'\nwithin = '{package}.tools'"],
    "two, of which one is nearer": ["target = '{package}.tools:fetch'", "define = '{package}.tools:f*'"],
}

BAD = {
    "one target twice": ["target = '{package}.tools:fetch'", "target = '{package}.tools:fetch'"],
    "one definition by two patterns": ["define = '{package}.tools:f*'", "define = '{package}.tools:*ch'"],
    "one call by two patterns": ["call = 'TOOLS[$tool](...)'", "call = 'TOOLS[$name](...)'"],
}


def _write(folder, layout, selectors):
    project_folder, package, project, path, package_folder = LAYOUTS[layout]
    rules = "\n".join(
        f'[[boundary]]\nname = "{{__name__}}"\nkind = "tool"\n{selector.format(package=package)}'
        for selector in selectors
    ).replace("{__name__}", "tool" if "call =" in selectors[0] else "{__name__}")
    inserted = f"import sys; sys.path.insert(0, {path!r})" if path else ""
    files = {
        f"{project_folder}/agent.py": AGENT.format(path=inserted, package=package),
        f"{project_folder}/autochron.toml": f"version = 1\npacks = []\n{project}\n{rules}",
        f"{package_folder}/__init__.py": "",
        f"{package_folder}/tools.py": TOOLS,
    }
    processes.write(folder, files)
    return folder / project_folder


@pytest.fixture
def results(monkeypatch, capsysbinary):
    """Return a function that runs all commands in a folder: those that run no program run in this process."""

    def check(folder, path):
        monkeypatch.chdir(folder)
        with pytest.raises(SystemExit) as ended:
            main(["check", path])
        return processes.Result(ended.value.code, *capsysbinary.readouterr())

    def run(folder):
        programs = [
            processes.autochron(folder, *command) for command in (["run", "agent.py"], ["replay", "last"])
        ]
        return [*programs, check(folder, "."), check(folder, "agent.py")]

    return run


UNUSUAL = ("beside the rules' folder", "in a namespace")


def _pairs(rules):
    """Pair each of the rules with each layout: the unusual layouts in every build, the others with `--thorough`."""
    return [
        pytest.param(layout, name, marks=() if layout in UNUSUAL else pytest.mark.thorough)
        for layout in LAYOUTS
        for name in rules
    ]


@pytest.mark.parametrize(("layout", "rules"), _pairs(GOOD))
def test_all_commands_accept_good_rules(tmp_path, results, layout, rules):
    recorded, replayed, checked, checked_file = results(_write(tmp_path, layout, GOOD[rules]))
    assert (recorded.status, recorded.text) == (0, "2 6 12 7\n")
    assert "1 crossing" in recorded.said or "2 crossings" in recorded.said
    assert (replayed.status, replayed.text) == (0, "2 6 12 7\n"), replayed.said
    assert (checked.status, checked_file.status) == (0, 0)


@pytest.mark.parametrize(("layout", "rules"), _pairs(BAD))
def test_all_commands_refuse_bad_rules(tmp_path, results, layout, rules):
    assert processes.autochron(_write(tmp_path, layout, GOOD["a target"]), "run", "agent.py").status == 0
    refused = results(_write(tmp_path, layout, BAD[rules]))
    assert [result.status for result in refused] == [2, 2, 2, 2]
    assert all("(bad-rule)" in result.said for result in refused), [result.said for result in refused]

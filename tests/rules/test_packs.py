"""The shipped packs match their examples, and their targets are in the installed libraries."""

import importlib.metadata
import importlib.util
from pathlib import Path
from types import SimpleNamespace

import pytest
import tomli

from autochron.crossing.conditions import condition
from autochron.errors import RuleError
from autochron.matching.matcher import Matcher
from autochron.model import ContextRule, Rules
from autochron.rules.lines import find_lines
from autochron.rules.loading import load_rules
from autochron.rules.packfile import read_pack
from autochron.rules.packs import load_pack, pack_index, pack_texts, with_imported
from autochron.weaving.gate import Point

PACKS = sorted(pack_index())
SDKS = ("anthropic", "groq", "openai")
"""The packs of SDKs in which every call goes through `request` of a base client."""
CLIENTS = {"anthropic": "Anthropic", "groq": "Groq", "openai": "OpenAI"}


def data(name):
    return tomli.loads(Path(pack_texts()[name].file).read_text("utf-8"))


def examples(key):
    return [
        (name, example["rule"], text)
        for name in SDKS
        for example in data(name).get("example", ())
        for text in example.get(key, [])
    ]


def first_match(name, target, options):
    """Return the id of the first matching rule, which a crossing would use."""
    point = Point(name, "request", ("options",))
    for rule in load_pack(name).boundaries:
        fits = condition(rule.when, point)
        if str(rule.selector) == target and (fits is None or fits((options,))):
            return rule.id
    return None


@pytest.mark.parametrize("name", PACKS)
def test_the_index_agrees_with_the_pack(name):
    assert pack_index()[name] == tuple(data(name)["pack"]["modules"]) == load_pack(name).modules
    lines = find_lines(Path(pack_texts()[name].file).read_text("utf-8"))
    boundary_lines = {
        path[1]: line for path, line in lines.items() if path[0] == "boundary" and len(path) == 2
    }
    assert {rule.place.line for rule in load_pack(name).boundaries} == set(boundary_lines.values())


@pytest.mark.parametrize("name", PACKS)
def test_every_rule_has_an_example(name):
    assert {rule.id for rule in load_pack(name).boundaries} == {
        example["rule"] for example in data(name).get("example", ())
    }


@pytest.mark.parametrize(("name", "rule", "http"), examples("http"))
@pytest.mark.parametrize("client", ["SyncAPIClient", "AsyncAPIClient"])
def test_an_example_url_matches_its_rule(name, rule, http, client):
    method, url = http.split()
    assert (
        first_match(name, f"{name}._base_client:{client}.request", SimpleNamespace(method=method, url=url))
        == rule
    )


class OptionsCaptured(Exception):
    """Raised to carry the options out of the SDK."""


@pytest.mark.sdks
@pytest.mark.parametrize(("name", "rule", "code"), examples("code"))
def test_example_code_matches_its_rule(name, rule, code, monkeypatch):
    sdk = pytest.importorskip(name)

    def request(self, cast_to, options, **rest):
        raise OptionsCaptured(options)

    monkeypatch.setattr(f"{name}._base_client.SyncAPIClient.request", request)
    clients = {"client": getattr(sdk, CLIENTS[name])(api_key="x")}
    if name == "openai":
        clients["azure"] = sdk.AzureOpenAI(
            api_key="x", azure_endpoint="http://azure.invalid", azure_deployment="d", api_version="1"
        )
    with pytest.raises(OptionsCaptured) as caught:
        eval(code, clients)
    options = caught.value.args[0]
    assert first_match(name, f"{name}._base_client:SyncAPIClient.request", options) == rule
    assert hasattr(options, "json_data")


@pytest.mark.sdks
@pytest.mark.parametrize("name", SDKS)
def test_targets_are_in_the_installed_library(name):
    pytest.importorskip(name)
    spec = importlib.util.find_spec(f"{name}._base_client")
    assert spec is not None
    code = spec.loader.get_code(spec.name)
    rules = Rules(packs=(load_pack(name),))
    result = Matcher(rules).find(spec.name, code, is_project=False)
    assert (result.absent, result.ledger) == ((), ())
    assert {match.rule for match in result.matches} == set(load_pack(name).boundaries)
    assert {(match.qualname, match.shape) for match in result.matches} == {
        ("SyncAPIClient.request", "function"),
        ("AsyncAPIClient.request", "coroutine"),
    }
    assert importlib.metadata.version(load_pack(name).distribution).split(".")[0] in {
        version.split(".")[0] for version in load_pack(name).tested
    }


def test_a_pack_is_loaded_when_its_library_is_imported():
    rules = load_rules(None)
    assert with_imported(rules, "json") is rules
    assert with_imported(rules, "openai_tools") is rules
    woven = with_imported(rules, "openai._base_client")
    assert [pack.name for pack in woven.packs] == ["openai"]
    assert with_imported(woven, "openai") is woven
    assert woven.digest == rules.digest


def test_an_unknown_pack_is_refused():
    with pytest.raises(RuleError) as caught:
        load_pack("opena")
    assert str(caught.value) == "there is no pack `opena`; nearest is `openai` (bad-rule)"


def test_a_pack_names_the_contexts_of_its_library():
    context = '[[context]]\nclass = "desk.run:Context"\nchanges = ["state", "agent.notes"]\n'
    text = f'[pack]\nname = "desk"\nmodules = ["desk"]\ndistribution = "desk"\nbookkeeping = ["desk.cache"]\n{context}'
    pack = read_pack("desk", "desk.toml", text)
    assert pack.contexts == (ContextRule("desk.run:Context", ("state", "agent.notes")),)
    assert pack.bookkeeping == ("desk.cache",)


@pytest.mark.parametrize(
    ("context", "message"),
    [
        ('changes = ["state"]', "[[context]] has no `class`; write it as MODULE:NAME"),
        ('class = "a:B"\nchanges = ["x.*"]', "`changes` `x.*` must lead to one object: no `*`, no filter"),
        ('class = "a:B"\nchange = ["x"]', "[[context]] has no key `change`; nearest is `changes`"),
    ],
)
def test_a_context_that_is_written_wrongly_is_refused(context, message):
    with pytest.raises(RuleError) as caught:
        read_pack(
            "p",
            "p.toml",
            f'[pack]\nname = "p"\nmodules = ["p"]\ndistribution = "p"\n[[context]]\n{context}\n',
        )
    assert message in str(caught.value)


def test_an_id_can_be_used_only_once_in_a_pack():
    rule = '[[boundary]]\nid = "p"\nname = "a"\nkind = "tool"\ntarget = "a:b"\n'
    with pytest.raises(RuleError) as caught:
        read_pack("p", "p.toml", f'[pack]\nname = "p"\nmodules = ["p"]\ndistribution = "p"\n{rule}{rule}')
    assert str(caught.value) == "p.toml:11: `id` `p` is taken by the rule at p.toml:5 (bad-rule)"

"""LangChain without a graph under its pack: every kind of tool. Its model calls cross in the SDKs."""

import pytest

from autochron.provider import Call, Script, Step
from autochron.rules.packs import load_pack
from tests.packs.harness import needs, record_and_replay

pytestmark = needs("langchain-core", "langchain-openai", "langchain-anthropic")

ASKED = Script(
    (Step(when=("what is a mug",), text="{random}", calls=(Call.of("quote", item="mug", count=3),)),)
)


@pytest.mark.thorough
def test_chains_streams_and_tools_sync_and_async(tmp_path):
    recorded = record_and_replay("langchain_tools", tmp_path, ASKED)
    assert recorded.addresses() == [
        *("model[1]", "model[2]", "quote[1]", "model[3]", "picture[1]", "reverse[1]", "fails[1]"),
        *("till[1]", "till[2]", "stock[1]", "stock[2]", "quote[2]", "reverse[2]", "till[3]", "model[4]"),
    ]
    assert recorded.calls == 4
    assert {envelope.parent for envelope in recorded.trace.envelopes} == {None}
    by_address = {envelope.address: envelope for envelope in recorded.trace.envelopes}
    assert by_address["quote[1]"].arguments == {"args": [], "kwargs": {"count": 3, "item": "mug"}}
    assert by_address["model[2]"].site == "anthropic._base_client:SyncAPIClient.request"
    assert by_address["model[4]"].site == "openai._base_client:AsyncAPIClient.request"


@pytest.mark.thorough
def test_a_tool_with_a_rule_of_the_program_too_crosses_inside_the_packs_crossing(tmp_path):
    recorded = record_and_replay("langchain_tools", tmp_path, ASKED, tools="picture")
    assert recorded.addresses("tool")[:4] == ["quote[1]", "picture[1]", "picture[2]", "reverse[1]"]
    assert recorded.addresses(below="picture[1]") == ["picture[2]"]


@pytest.mark.thorough
def test_with_the_packs_rules_disabled_only_the_programs_tools_cross(tmp_path):
    ids = ", ".join(f'"{rule.id}"' for rule in load_pack("langchain").boundaries)
    tools = "picture quote stock reverse fails Till._run"
    recorded = record_and_replay(
        "langchain_tools", tmp_path, ASKED, tools=tools, rules=f"disable = [{ids}]\n"
    )
    # The asynchronous form of `reverse` calls the synchronous one.
    assert recorded.addresses("tool") == [
        *("quote[1]", "picture[1]", "reverse[1]", "fails[1]", "_run[1]", "_run[2]"),
        *("stock[1]", "stock[2]", "quote[2]", "reverse[2]", "_run[3]"),
    ]

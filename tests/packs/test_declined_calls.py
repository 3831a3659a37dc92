"""Calls that a framework's agent declined: a tool that a pack covers and that was not called stops no replay."""

import pytest

from autochron.provider import Call, Script, Step
from tests.agents.cases import Case
from tests.packs.harness import needs, record, replay_again

ORDERED = Script(
    (
        Step(
            when=("a mug",),
            text="{random}",
            calls=(Call.of("quote", item="mug"), Call.of("order", item="mug", count=3)),
        ),
    )
)
ANSWERED = Script((Step(calls=(Call.of("final_result", text="No."), Call.of("refund", number=7))),))


def footer_of(folder, program, script, slugs=()):
    recorded = record(folder, Case(program, slugs=slugs), script)
    return recorded, recorded.trace.footer


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("program", "script", "tool"),
    [
        pytest.param(
            "declining_langchain", ORDERED, "order", marks=needs("langchain-core", "langchain-openai")
        ),
        pytest.param("declining_pydantic_ai", ANSWERED, "refund", marks=needs("pydantic-ai-slim", "openai")),
    ],
    ids=["langchain", "pydantic-ai"],
)
def test_a_tool_of_a_framework_that_was_not_called_is_declined(program, script, tool, tmp_path):
    recorded, footer = footer_of(tmp_path, program, script)
    assert (footer.declined_tools, footer.unwoven_tools) == ((tool,), ())
    assert "(unwoven-tool)" not in recorded.command.stderr
    replay_again(tmp_path, recorded)


@pytest.mark.parametrize(
    ("program", "script", "tool"),
    [
        pytest.param(
            "bypassing_langchain", ORDERED, "order", marks=needs("langchain-core", "langchain-openai")
        )
    ],
    ids=["langchain"],
)
def test_a_tool_whose_own_function_is_called_past_the_framework_is_not_taken_for_declined(
    program, script, tool, tmp_path
):
    recorded, footer = footer_of(tmp_path, program, script)
    assert "ordered mug 3" in recorded.output
    assert "(unconfirmed-tool)" in recorded.command.stderr
    assert (footer.declined_tools, footer.unwoven_tools) == ((), ())
    assert [(found.tool, found.how) for found in footer.found_tools] == [(tool, "by name")]

"""fastmcp: a server that is started over stdio, and one in the same process; a model of OpenAI calls their tools."""

from autochron.provider import Call, Step
from tests.frameworks.case import Case, Tool

_ask = Call.of

CASES = (
    Case(
        "fastmcp_stdio",
        (
            Step(
                turn=0,
                calls=(_ask("count_stock", product="kettle"), _ask("quote", product="kettle", pieces=2)),
            ),
            Step(turn=1, calls=(_ask("count_stock", product="toaster"),)),
            Step(turn=2, text="Twelve kettles are left; two cost 70 euros. There is no toaster."),
        ),
        (Tool("count_stock", 2, how="pack"), Tool("quote", how="pack")),
        files=("fastmcp_server.py",),
        others=("stdio_client", "discover", "list_tools"),
    ),
    Case(
        "fastmcp_memory",
        (
            Step(turn=0, calls=(_ask("add", a=19, b=23), _ask("describe", number=7))),
            Step(turn=1, calls=(_ask("describe", number=42),)),
            Step(turn=2, text="The sum is 42, which is even."),
        ),
        (Tool("add", how="pack"), Tool("describe", 2, how="pack")),
        others=("discover", "list_tools", "resources/read"),
    ),
)

"""claude-agent-sdk: its command line is a stand-in, which asks the provider and runs its own tools, as Claude's does."""

from autochron.provider import Call, Step
from tests.frameworks.case import Case, Tool

_ask = Call.of

CASES = (
    Case(
        "claude_calculator",
        (
            Step(
                ("15 + 27",),
                0,
                "I'll add them and have a look.",
                (
                    _ask("mcp__calc__add", a=15, b=27),
                    _ask("mcp__calc__add", a=1, b=1),
                    _ask("Bash", command='echo Bash >> "$FOOTPRINTS"; ls footprint.py'),
                ),
            ),
            Step(("15 + 27",), 1, "42 and 2; there is footprint.py."),
            Step(
                ("divide 100",),
                2,
                calls=(
                    _ask("mcp__calc__divide", a=100, b=8),
                    _ask("mcp__calc__divide", a=1, b=0),
                    _ask("Bash", command='echo deleted >> "$FOOTPRINTS"; rm -rf everything'),
                ),
            ),
            Step(("divide 100",), 3, "12.5. The rest I may not do."),
        ),
        (
            Tool("add", 2, how="pack"),
            Tool("divide", 2, how="pack"),
            # It runs in the command line, which no replay starts.
            Tool("Bash", 0, how="pack", runs=1, live_runs=0),
        ),
        files=("claude_cli.py",),
    ),
    Case(
        "claude_query",
        (
            Step(("2 + 2",), text="4"),
            Step(("poem",), text="Roses are red, and so are some of the tests."),
            Step(("notes.txt",), 0, "I will read it.", (_ask("Read", file_path="notes.txt"),)),
            Step(("notes.txt",), 1, "There is no such file."),
            Step(("river",), text="The Rhine."),
            Step(("mountain",), text="Mont Blanc."),
        ),
        files=("claude_cli.py",),
    ),
)

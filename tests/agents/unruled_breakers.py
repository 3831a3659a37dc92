"""Agents without a rules file that try to break the search for their tools, or what follows from it."""

from autochron.provider import Step
from tests.agents.unruled_cases import Tool, Unruled, ask, talk

BREAKERS = (
    # Models, tasks, processes.
    Unruled(
        "model_in_tool",
        (
            *talk("a short text", when="Shorten:"),
            *talk(ask("summarize", text="the long story"), "Done."),
        ),
        (Tool("summarize", "model_in_tool.py:summarize"),),
    ),
    Unruled(
        "same_tool_in_tasks",
        (
            *talk(ask("weigh", item="anvil"), when="Alpha"),
            *talk(ask("weigh", item="piano"), when="Beta"),
            Step(("anvil weighs",), 1, None, (ask("weigh", item="feather"),)),
            Step(("piano weighs",), 1, None, (ask("weigh", item="feather"),)),
            Step(turn=2, text="That much."),
        ),
        (Tool("weigh", "same_tool_in_tasks.py:weigh", 4),),
    ),
    Unruled(
        "process_pool",
        talk(ask("crunch", number=12), "Done."),
        (Tool("crunch", how="nowhere"),),
    ),
    # Calls inside, again, in part, and none to the end.
    Unruled(
        "recursion",
        talk(ask("outline", topic="tides", depth=2), ask("polish", topic="tides"), "Done."),
        (
            Tool("outline", "recursion.py:outline", runs=4),
            Tool("polish", "recursion.py:polish"),
        ),
    ),
    Unruled(
        "streamed_tool",
        talk(ask("pages", book="Emma"), "Done."),
        (Tool("pages", "streamed_tool.py:pages", how="name refused"),),
    ),
    Unruled(
        "failing_retries",
        talk(ask("flaky", host="db1"), "Done."),
        (Tool("flaky", "failing_retries.py:flaky", 3),),
    ),
    Unruled(
        "value_then_raise",
        talk(ask("weather", city="Bern"), "Done."),
        (Tool("weather", "value_then_raise.py:_do", how="value"),),
        left_alone=("value_then_raise.py:run",),
    ),
    Unruled(
        "exit_in_tool",
        talk(ask("shut_down", code=5), "Done."),
        (Tool("shut_down", "exit_in_tool.py:shut_down", how="name refused"),),
        status=5,
    ),
    Unruled(
        "interrupt_in_tool",
        talk(ask("wait", seconds=1), "Done."),
        (Tool("wait", "interrupt_in_tool.py:wait", how="name refused"),),
        status=3,
    ),
    # Other functions than their names say.
    Unruled(
        "mocked",
        talk(ask("charge", card="4111", cents=250), "Done."),
        (Tool("charge", "mocked.py:fake", how="name value"),),
        left_alone=("mocked.py:charge",),
    ),
    Unruled(
        "mocked_plain",
        talk(ask("charge", card="4111", cents=250), "Done."),
        (Tool("charge", "mocked_plain.py:fake"),),
        left_alone=("mocked_plain.py:charge",),
    ),
    Unruled(
        "named_main",
        talk((ask("main", path="job.py"), ask("print", text="hello you")), "Done."),
        (Tool("main", "named_main.py:main"), Tool("print", "named_main.py:print_")),
        left_alone=("named_main.py:run",),
    ),
    Unruled(
        "many_tools",
        talk((ask("tool_3", value=5), ask("tool_150", value=6)), ask("tool_3", value=7), "Done."),
        (
            Tool("tool_3", "many_tools.py:make.<locals>.tool", 2),
            Tool("tool_150", "many_tools.py:make.<locals>.tool"),
        ),
    ),
    Unruled(
        "helper_in_result",
        talk(ask("transfer", account="77-1", amount=950), "Done."),
        (Tool("transfer", "helper_in_result.py:_post", how="nowhere"),),
        left_alone=("helper_in_result.py:Audit.transfer",),
    ),
    # What looks at the program, and what the program looks at.
    Unruled(
        "hostile_objects",
        talk(ask("lookup", key="atlas"), "Done."),
        (Tool("lookup", "hostile_objects.py:lookup"),),
    ),
    Unruled(
        "monitoring_used",
        talk(ask("weather", city="Bern"), "Done."),
        (Tool("weather", "monitoring_used.py:_fetch", how="value refused"),),
        left_alone=("monitoring_used.py:run",),
    ),
    Unruled(
        "traced",
        talk(ask("weather", city="Bern"), "Done."),
        (Tool("weather", "traced.py:_fetch", how="value refused"),),
        left_alone=("traced.py:run",),
    ),
)

"""The programs of `unruled/`: agents without a rules file, and what is to be found in each.

Each case has the answers of the model, the tools that they ask for, and where each tool is defined. A tool may be found by
its name, by value, or be refused with the table to write, where several are allowed in that order of merit:

- `name`: a function, a method or an entry of a dict or list has the name of the tool.
- `value`: no name tells. The arguments and the result of a call do. It takes Python 3.12 or later; on 3.11 it is refused.
- `refused`: neither tells which function the tool is. A replay is refused, with a table that makes it work.
- `nowhere`: the tool is no function. A replay is refused.
"""

import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from autochron.provider import Call, Script, Step

UNRULED = Path(__file__).parent / "unruled"

LEARNS = sys.version_info >= (3, 12)
"""Whether this Python can find tools by value."""


@dataclass(frozen=True)
class Tool:
    """A tool that a model asks for.

    Attributes:
        name: its name in the model's requests, which its crossings have, too.
        sites: where it may be defined, each as FILE:NAME; empty where that is not asked.
        times: how many crossings it has.
        how: the ways in which it may be found, separated by spaces; see above.
        runs: how often its function runs in a recording, outside of its crossings included; None for as often as it crosses.
        outside: how often it runs outside of every call of a model, and so in each replay.
        live_runs: how often it runs where tools are live; None for as often as in a recording.
    """

    name: str
    sites: str = ""
    times: int = 1
    how: str = "name"
    runs: int | None = None
    outside: int = 0
    live_runs: int | None = None

    def allowed(self) -> tuple[str, ...]:
        """Return the ways in which this Python may find it."""
        ways = tuple(self.how.split())
        if LEARNS or "value" not in ways:
            return ways
        return (*(way for way in ways if way not in {"value", "refused"}), "refused")

    def is_writable(self) -> bool:
        """Return whether the table of a refusal must work as it is. What only values tell, 3.11 can't know."""
        return LEARNS or "refused" in self.how


@dataclass(frozen=True)
class Unruled:
    """One program.

    Attributes:
        program: its file in `unruled/`, or a module of a package there, which is run with `-m`.
        steps: the model's answers.
        tools: the tools that the answers ask for.
        left_alone: functions that must not be taken for tools, each as FILE:NAME.
        unasked: names of footprints that are left in each run and each replay.
    """

    program: str
    steps: tuple[Step, ...]
    tools: tuple[Tool, ...]
    left_alone: tuple[str, ...] = ()
    unasked: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.program

    def script(self) -> Script:
        """Return the script for the provider."""
        return Script(self.steps)

    def command(self) -> tuple[str, ...]:
        """Return the words after `autochron run`."""
        return (
            ("-m", self.program)
            if (UNRULED / self.program.partition(".")[0]).is_dir()
            else (f"{self.program}.py",)
        )

    def recorded_footprints(self) -> list[str]:
        """Return the footprints of a recorded run."""
        return self._footprints(lambda tool: tool.times + tool.outside if tool.runs is None else tool.runs)

    def replayed_footprints(self) -> list[str]:
        """Return the footprints of a replay in which nothing is live."""
        return self._footprints(lambda tool: tool.outside)

    def live_footprints(self) -> list[str]:
        """Return the footprints of a replay in which the tools are live."""
        runs = Counter(self.recorded_footprints())
        return self._footprints(lambda tool: runs[tool.name] if tool.live_runs is None else tool.live_runs)

    def _footprints(self, count: Callable[[Tool], int]) -> list[str]:
        """Return each tool's name as often as `count` says, and what is left in any case."""
        counts = Counter({tool.name: count(tool) for tool in self.tools})
        return sorted([*counts.elements(), *self.unasked])


ask = Call.of


def talk(*turns: tuple[Call, ...] | Call | str, when: str = "") -> tuple[Step, ...]:
    """Return the steps of one conversation: calls, or a text, for each turn of the model.

    Args:
        turns: the answers in order; the last one is a text.
        when: a part of the user's message, where a program has several conversations.
    """
    steps = []
    for turn, answer in enumerate(turns):
        calls = answer if isinstance(answer, tuple) else (answer,) if isinstance(answer, Call) else ()
        text = answer if isinstance(answer, str) else None
        steps.append(Step((when,) if when else (), turn, text, calls))
    return tuple(steps)


CASES = (
    # Functions in a dict, in a ladder of ifs, in a match.
    Unruled(
        "weather_dict",
        talk(
            (ask("get_current_weather", location="Lisbon"), ask("get_local_time", location="Lisbon")),
            "It is 22 degrees at five past two.",
        ),
        (
            Tool("get_current_weather", "weather_dict.py:get_current_weather"),
            Tool("get_local_time", "weather_dict.py:get_local_time"),
        ),
    ),
    Unruled(
        "bank_ladder",
        talk(
            ask("balance", account="4711"),
            ask("transfer", from_account="4711", to_account="4712", amount=50),
            ask("balance", account="4712"),
            "Done: 50 euros were moved.",
        ),
        (
            Tool("balance", "bank_ladder.py:_fetch", 2, "value"),
            Tool("transfer", "bank_ladder.py:_move_money", how="value"),
        ),
        left_alone=("bank_ladder.py:handle", "bank_ladder.py:spec"),
    ),
    Unruled(
        "travel_match",
        talk(
            ask("search_flights", origin="AMS", destination="OSL", max_price=400),
            ask("book_flight", flight="KL1234", passenger="Ada"),
            "Ada flies with KL1234.",
        ),
        (
            Tool("search_flights", "travel_match.py:search_flights"),
            Tool("book_flight", "travel_match.py:book_flight"),
        ),
        left_alone=("travel_match.py:dispatch",),
    ),
    Unruled(
        "hotel_match_renamed",
        talk(
            ask("check_availability", room_type="suite"),
            ask("make_reservation", guest="Grace", room_type="suite", nights=3),
            "The suite is hers.",
        ),
        (
            Tool("check_availability", "hotel_match_renamed.py:rooms_left", how="value"),
            Tool("make_reservation", "hotel_match_renamed.py:reserve", how="value"),
        ),
        left_alone=("hotel_match_renamed.py:call_tool",),
    ),
    # Registries.
    Unruled(
        "registry_plain",
        talk(
            (ask("find_book", title="The Dispossessed"), ask("renew_loan", card=77, days=14)),
            "It is on shelf 12, and the loan is renewed.",
        ),
        (
            Tool("find_book", "registry_plain.py:find_book"),
            Tool("renew_loan", "registry_plain.py:renew_loan"),
        ),
    ),
    Unruled(
        "registry_wrapped",
        talk(
            ask("convert_currency", amount=120, source="USD", target="EUR"),
            ask("convert_currency", amount=109.2, source="EUR", target="USD"),
            "There and back makes 120.12.",
        ),
        (
            Tool(
                "convert_currency",
                "registry_wrapped.py:convert_currency registry_wrapped.py:agent_tool.<locals>.wrapper",
                2,
            ),
        ),
    ),
    Unruled(
        "registry_renamed",
        talk(
            ask("lookup_order", order_id="48213"),
            ask("issue_refund", order_id="48213", cents=4899),
            "You get 48.99 back.",
        ),
        (
            Tool("lookup_order", "registry_renamed.py:order_from_db", how="name value"),
            Tool("issue_refund", "registry_renamed.py:pay_back", how="name value"),
        ),
    ),
    # Methods and classes.
    Unruled(
        "kitchen_methods",
        talk(
            ask("list_pantry"),
            (
                ask("use_ingredient", ingredient="flour", quantity=250),
                ask("use_ingredient", ingredient="eggs", quantity=2),
            ),
            "Mix and fry.",
        ),
        (
            Tool("list_pantry", "kitchen_methods.py:Kitchen.list_pantry"),
            Tool("use_ingredient", "kitchen_methods.py:Kitchen.use_ingredient", 2),
        ),
    ),
    Unruled(
        "class_run",
        talk(
            (ask("calculate", expression="1234 * 5678"), ask("define_word", word="prime")),
            "7006652; and a prime has no divisors.",
        ),
        (
            Tool("calculate", "class_run.py:Calculator.run", how="name value"),
            Tool("define_word", "class_run.py:Dictionary.run", how="name value"),
        ),
    ),
    Unruled(
        "class_execute",
        talk(
            ask("create_ticket", title="The shop is down", severity="high"),
            ask("assign_ticket", ticket=9001, assignee="Margaret"),
            "Margaret is on it.",
        ),
        (
            Tool("create_ticket", "class_execute.py:CreateTicket.execute", how="name value"),
            Tool("assign_ticket", "class_execute.py:AssignTicket.execute", how="name value"),
        ),
    ),
    Unruled(
        "class_call",
        talk(
            ask("read_sensor", sensor="boiler"), ask("set_valve", percent=40), "The valve is at 40 percent."
        ),
        (
            Tool("read_sensor", "class_call.py:SensorReader.__call__", how="name value"),
            Tool("set_valve", "class_call.py:Valve.__call__", how="name value"),
        ),
    ),
    # What is no plain function.
    Unruled(
        "partials",
        talk(
            ask("query_customers", city="Erlangen"),
            ask("rename_customer", id=2, name="Emmy Noether"),
            "Her full name is known now.",
        ),
        (
            Tool("query_customers", "partials.py:query_customers"),
            Tool("rename_customer", "partials.py:rename_customer"),
        ),
    ),
    Unruled(
        "lambdas",
        talk(ask("switch_light", room="hall", on=True), ask("list_lights"), "Both are on."),
        (
            Tool("switch_light", "lambdas.py:<lambda>", how="name value"),
            Tool("list_lights", "lambdas.py:<lambda>", how="name value"),
        ),
    ),
    Unruled(
        "closures",
        (
            *talk(ask("add_to_cart", item="desk"), ask("total"), "Ada pays 39.", when="Ada wants"),
            *talk(ask("add_to_cart", item="chair"), ask("total"), "Joan pays 19.50.", when="Joan wants"),
        ),
        (
            Tool("add_to_cart", "closures.py:toolset.<locals>.add_to_cart", 2),
            Tool("total", "closures.py:toolset.<locals>.total", 2),
        ),
    ),
    # At once.
    Unruled(
        "async_gather",
        talk(
            (
                ask("fetch_price", symbol="ACME"),
                ask("fetch_price", symbol="GLOBEX"),
                ask("fetch_news", symbol="ACME", limit=1),
            ),
            "ACME costs more, and opens a plant.",
        ),
        (
            Tool("fetch_price", "async_gather.py:fetch_price", 2),
            Tool("fetch_news", "async_gather.py:fetch_news"),
        ),
        left_alone=("async_gather.py:execute",),
    ),
    Unruled(
        "thread_pool",
        talk(
            (ask("check_host", host="web1"), ask("check_host", host="web2"), ask("check_host", host="db1")),
            ask("restart_service", host="db1", service="postgres"),
            "db1 is back.",
        ),
        (
            Tool("check_host", "thread_pool.py:check_host", 3),
            Tool("restart_service", "thread_pool.py:restart_service"),
        ),
    ),
    # Found by a name at run time.
    Unruled(
        "garage",
        talk(
            ask("free_slots", weekday="Thursday"),
            ask("book_slot", slot="2026-04-02 13:30", plate="XY-12"),
            "Thursday at half past one.",
        ),
        (Tool("free_slots", "garage/tools.py:free_slots"), Tool("book_slot", "garage/tools.py:book_slot")),
    ),
    Unruled(
        "globals_lookup",
        talk(
            (ask("word_count", text="a rose is a rose"), ask("reverse_text", text="a rose is a rose")),
            "105, and esor a si esor a.",
        ),
        (
            Tool("word_count", "globals_lookup.py:word_count"),
            Tool("reverse_text", "globals_lookup.py:reverse_text"),
        ),
    ),
    Unruled(
        "notes.app",
        talk(
            ask("write_note", text="The rent is due."), ask("read_note", note=100), "Noted: the rent is due."
        ),
        (
            Tool("write_note", "notes/skills/writing.py:write_note"),
            Tool("read_note", "notes/skills/reading.py:read_note"),
        ),
    ),
    # Arguments otherwise than declared.
    Unruled(
        "one_dict",
        talk(
            ask("get_quote", symbol="initech"),
            ask("place_order", symbol="INITECH", side="buy", quantity=25),
            "25 were bought.",
        ),
        (Tool("get_quote", "one_dict.py:get_quote"), Tool("place_order", "one_dict.py:place_order")),
    ),
    Unruled(
        "pydantic_args",
        talk(
            (ask("reserve_table", restaurant="Mario's", people=4), ask("get_menu", restaurant="Mario's")),
            "Table 34. They have ravioli.",
        ),
        (
            Tool("reserve_table", "pydantic_args.py:reserve_table", how="name value"),
            Tool("get_menu", "pydantic_args.py:get_menu", how="name value"),
        ),
    ),
    Unruled(
        "dataclass_args",
        talk(
            ask("deposit", account="savings", amount=250), ask("statement", account="savings"), "1250 it is."
        ),
        (
            Tool("deposit", "dataclass_args.py:Bank._deposit", how="value refused"),
            Tool("statement", "dataclass_args.py:Bank._statement", how="value refused"),
        ),
    ),
    # Errors.
    Unruled(
        "tool_raises",
        talk(
            ask("ship", item="mug", quantity=5),
            ask("ship", item="mug", quantity=3),
            "Three are on their way.",
        ),
        (Tool("ship", "tool_raises.py:ship", 2),),
        left_alone=("tool_raises.py:safely",),
    ),
    # Other forms of the model's calls.
    Unruled(
        "openai_stream_agent",
        talk(
            (ask("get_lyrics", song="Clementine", verse=2), ask("play", song="Clementine", volume=2)),
            "It plays, and la la li la.",
        ),
        (
            Tool("get_lyrics", "openai_stream_agent.py:get_lyrics"),
            Tool("play", "openai_stream_agent.py:play"),
        ),
    ),
    Unruled(
        "anthropic_ladder",
        talk(
            (ask("run_tests", pattern="add"), ask("read_file", path="main.py")),
            ask("read_file", path="app.py"),
            "It subtracts.",
        ),
        (
            Tool("run_tests", "anthropic_ladder.py:_pytest", how="value"),
            Tool("read_file", "anthropic_ladder.py:_cat", 2, "value refused"),
        ),
        left_alone=("anthropic_ladder.py:process_tool_call",),
    ),
    Unruled(
        "responses_api",
        talk(
            (ask("get_horoscope", sign="Aquarius"), ask("lucky_numbers", sign="Aquarius", count=3)),
            "An otter, and 56.",
        ),
        (
            Tool("get_horoscope", "responses_api.py:get_horoscope"),
            Tool("lucky_numbers", "responses_api.py:lucky_numbers"),
        ),
    ),
)

FAST = (
    "weather_dict", "bank_ladder", "registry_wrapped", "kitchen_methods", "class_run", "closures", "async_gather",
    "garage", "notes.app", "anthropic_ladder", "responses_api", "tool_raises",
)  # fmt: skip
"""The cases that each run of the tests tries; the others are slow."""

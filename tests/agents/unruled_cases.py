"""The programs of `unruled/`: agents without a rules file, and what is to be found in each.

Each case has the answers of the model, the tools that they ask for, and where each tool is defined. A tool may be found by
its name, by value, or be refused with the table to write, where several are allowed in that order of merit:

- `name`: a function, a method or an entry of a dict or list has the name of the tool.
- `value`: no name tells. The arguments and the result of a call do. It takes Python 3.12 or later; on 3.11 it is refused.
- `refused`: neither tells which function the tool is. A replay is refused, with a table that makes it work.
- `nowhere`: the tool is no function. A replay is refused.
- `form`: the tool is a class of data that the model fills in as its answer. A replay needs nothing of it.
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
        times: how many crossings it has; none where it is never called.
        or_times: another number of crossings that is right; None for none.
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
    or_times: int | None = None

    def allowed(self) -> tuple[str, ...]:
        """Return the ways in which this Python may find it."""
        ways = tuple(self.how.split())
        if LEARNS or "value" not in ways:
            return ways
        return (*(way for way in ways if way not in {"value", "refused"}), "refused")

    def is_writable(self) -> bool:
        """Return whether the table of a refusal must work as it is. What only values tell, 3.11 can't know."""
        return LEARNS or ("name" in self.how.split() and "value" not in self.how.split())


@dataclass(frozen=True)
class Unruled:
    """One program.

    Attributes:
        program: its file in `unruled/`, or a module of a package there, which is run with `-m`.
        steps: the model's answers.
        tools: the tools that the answers ask for.
        left_alone: functions that must not be taken for tools, each as FILE:NAME.
        unasked: names of footprints that are left in each run and each replay.
        candidates: functions that a refusal must name, since it can't tell which of them is the tool.
        status: the program's exit status.
        is_opaque: whether a tool returns what can't be kept, so that it can only be live.
    """

    program: str
    steps: tuple[Step, ...]
    tools: tuple[Tool, ...]
    left_alone: tuple[str, ...] = ()
    unasked: tuple[str, ...] = ()
    candidates: tuple[str, ...] = ()
    status: int = 0
    is_opaque: bool = False

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
            Tool("switch_light", how="name value"),
            Tool("list_lights", how="name value"),
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
    Unruled(
        "coerced_arguments",
        talk(
            ask("schedule_payment", date="2026-07-01", amount="950.00", iban="NL91 ABNA 0417 1643 00"),
            "It is scheduled.",
        ),
        (Tool("schedule_payment", "coerced_arguments.py:Payments.schedule", how="value refused"),),
        left_alone=("coerced_arguments.py:perform",),
    ),
    Unruled(
        "popped_arguments",
        talk(
            ask("render", template="report", size=4),
            ask("mail", to="joan@example.com", attachment="report.pdf"),
            "Joan has it.",
        ),
        (Tool("render", "popped_arguments.py:render"), Tool("mail", "popped_arguments.py:mail")),
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
    Unruled(
        "responses_chained",
        talk(ask("inventory"), ask("order_food", item="milk", count=2), "Milk comes on Friday."),
        (
            Tool("inventory", "responses_chained.py:Fridge.inventory"),
            Tool("order_food", "responses_chained.py:Fridge.order_food"),
        ),
    ),
    Unruled(
        "async_stream_agent",
        talk((ask("move_to", x=2, y=5), ask("take_photo", zoom=4)), "See photo_4x.jpg."),
        (
            Tool("move_to", "async_stream_agent.py:Robot.move_to"),
            Tool("take_photo", "async_stream_agent.py:Robot.take_photo"),
        ),
    ),
    Unruled(
        "anthropic_stream_agent",
        talk(
            ask("get_temperature", bed="tomatoes"),
            ask("set_heating", bed="tomatoes", celsius=22),
            "It will be 22 degrees soon.",
        ),
        (
            Tool("get_temperature", "anthropic_stream_agent.py:Greenhouse.get_temperature"),
            Tool("set_heating", "anthropic_stream_agent.py:Greenhouse.set_heating"),
        ),
        left_alone=("anthropic_stream_agent.py:Gardener.use",),
    ),
    Unruled(
        "anthropic_async",
        talk(
            (ask("departures", station="Bern"), ask("free_seats", train="IC 61", date="2026-06-01")),
            "At 10:04, and there are 41 seats.",
        ),
        (
            Tool("departures", "anthropic_async.py:_timetable", how="value"),
            Tool("free_seats", "anthropic_async.py:_seats", how="value"),
        ),
        left_alone=("anthropic_async.py:use_tool",),
    ),
    # Other names than the functions have.
    Unruled(
        "mcp_like",
        talk(
            ask("files__read", path="TODO"),
            ask("files__write", path="TODO", text="harpoon, rope, whale"),
            ask("git__commit", message="Add a whale"),
            "Committed.",
        ),
        (
            Tool("files__read", "mcp_like.py:read", how="name value"),
            Tool("files__write", "mcp_like.py:write", how="name value"),
            Tool("git__commit", "mcp_like.py:commit", how="name value"),
        ),
        left_alone=("mcp_like.py:ToolServer.call_tool",),
    ),
    Unruled(
        "plugin_dash",
        talk(
            ask("WeatherPlugin-get_forecast", city="Bergen", days=2),
            ask("MailPlugin-send", to="joan@example.com", body="18, then 19 degrees"),
            "Joan knows.",
        ),
        (
            Tool("WeatherPlugin-get_forecast", "plugin_dash.py:WeatherPlugin.get_forecast"),
            Tool("MailPlugin-send", "plugin_dash.py:MailPlugin.send"),
        ),
        left_alone=("plugin_dash.py:Kernel.invoke", "plugin_dash.py:MailPlugin.count"),
    ),
    Unruled(
        "namespaced",
        talk(
            (ask("math__add", a=12.5, b=30), ask("text__shout", s="hello")),
            ask("math__multiply", a=42.5, b=17),
            "722.5, and HELLO!",
        ),
        (
            Tool("math__add", "namespaced.py:add", how="name value"),
            Tool("text__shout", "namespaced.py:shout", how="name value"),
            Tool("math__multiply", "namespaced.py:multiply", how="name value"),
        ),
    ),
    Unruled(
        "camel_case",
        talk(
            ask("daysLeft", employeeId=311),
            ask("requestLeave", employeeId=311, firstDay="2026-05-04", lastDay="2026-05-08"),
            "It is requested.",
        ),
        (
            Tool("daysLeft", "camel_case.py:VacationTools.days_left", how="name value"),
            Tool("requestLeave", "camel_case.py:VacationTools.request_leave", how="name value"),
        ),
    ),
    Unruled(
        "toolfiles.main",
        talk(ask("zip_code", town="Bonn"), ask("parcel_price", zip=53111, grams=1500), "5.49 euros."),
        (
            Tool("zip_code", "toolfiles/tools/zip_code.py:run", how="name value"),
            Tool("parcel_price", "toolfiles/tools/parcel_price.py:run", how="name value"),
        ),
    ),
    Unruled(
        "tool_objects",
        talk(
            (ask("increase_counter", by=2), ask("reverse_word", word="stressed")),
            "42, and desserts.",
        ),
        (
            Tool("increase_counter", "tool_objects.py:Counter.bump", how="name value"),
            Tool("reverse_word", "tool_objects.py:<lambda> tool_objects.py:_reverse", how="name value"),
        ),
    ),
    Unruled(
        "parsed_tools",
        talk(
            ask("FindRoute", start="Otley", kilometres=12),
            ask("RateRoute", route="Otley - Old Mill - Otley", stars=4),
            "Enjoy it.",
        ),
        (
            Tool(
                "FindRoute",
                "parsed_tools.py:Walks.do_find parsed_tools.py:Walks.apply",
                how="value refused",
            ),
            Tool(
                "RateRoute",
                "parsed_tools.py:Walks.do_rate parsed_tools.py:Walks.apply",
                how="value refused",
            ),
        ),
        left_alone=("parsed_tools.py:FindRoute", "parsed_tools.py:RateRoute"),
    ),
    # Wrapped, layered, replaced, local.
    Unruled(
        "unwrapped_decorator",
        talk(
            ask("detect_language", text="lang geleden aan de dijk"),
            ask("translate", text="lang geleden aan de dijk", language="fr"),
            "kjid ed naa.",
        ),
        (
            Tool(
                "detect_language",
                "unwrapped_decorator.py:detect_language unwrapped_decorator.py:logged.<locals>.inner",
            ),
            Tool(
                "translate",
                "unwrapped_decorator.py:translate unwrapped_decorator.py:checked.<locals>.inner",
            ),
        ),
    ),
    Unruled(
        "template_method",
        talk(
            (ask("sunrise", city="Turku", date="2026-09-01"), ask("moon_phase", date="2026-09-01")),
            "At 6:42, with a waxing moon.",
        ),
        (
            Tool(
                "sunrise",
                "template_method.py:SunriseTool._run template_method.py:StructuredTool.invoke",
                1,
                "name value",
            ),
            Tool(
                "moon_phase",
                "template_method.py:MoonTool._run template_method.py:StructuredTool.invoke",
                1,
                "name value",
            ),
        ),
        left_alone=("template_method.py:Executor.execute",),
    ),
    Unruled(
        "layered",
        talk(
            (ask("get_population", country="NL", year=2025), ask("get_population", country="BE", year=2025)),
            "More Dutch.",
        ),
        (Tool("get_population", "layered.py:Facade.statistics", 2, "value"),),
        left_alone=("layered.py:Service.population", "layered.py:Repository.fetch", "layered.py:on_call"),
    ),
    Unruled(
        "cached_tool",
        talk(
            ask("whois", domain="otters.example"),
            ask("whois", domain="badgers.example"),
            ask("whois", domain="otters.example"),
            "Two societies.",
        ),
        (Tool("whois", "cached_tool.py:whois", 2, "name refused", or_times=3, runs=2),),
    ),
    Unruled(
        "replaced_tool",
        talk(ask("get_quota", project="apollo"), ask("get_quota", project="gemini"), "10 and 25."),
        (
            Tool(
                "get_quota",
                "replaced_tool.py:get_quota replaced_tool.py:get_quota_v2",
                2,
                "name refused",
            ),
        ),
    ),
    Unruled(
        "local_functions",
        talk((ask("add_goal", team="home"), ask("get_score")), "Two all."),
        (
            Tool("add_goal", "local_functions.py:main.<locals>.add_goal"),
            Tool("get_score", "local_functions.py:main.<locals>.get_score"),
        ),
    ),
    Unruled(
        "static_methods",
        talk(
            (ask("open_incident", title="Database down"), ask("page_oncall", team="dba", message="wake up")),
            "INC-403 is open.",
        ),
        (
            Tool("open_incident", "static_methods.py:Tools.open_incident"),
            Tool("page_oncall", "static_methods.py:Tools.page_oncall"),
        ),
    ),
    Unruled(
        "injected_context",
        talk(ask("list_devices", room="den"), ask("power", device="tv-1", state="off"), "The TV is off."),
        (
            Tool("list_devices", "injected_context.py:list_devices"),
            Tool("power", "injected_context.py:power"),
        ),
        left_alone=("injected_context.py:Home.call",),
    ),
    Unruled(
        "sqlite_tools",
        talk(
            ask("lend", book="Emma", reader="Charlotte"),
            ask("lend", book="Persuasion", reader="Charlotte"),
            ask("loans_of", reader="Charlotte"),
            "She has Persuasion.",
        ),
        (Tool("lend", "sqlite_tools.py:lend", 2), Tool("loans_of", "sqlite_tools.py:loans_of")),
    ),
    # Threads.
    Unruled(
        "to_thread",
        talk(ask("load_series", name="rain"), ask("render_chart", kind="bars", points=3), "See bars-3.png."),
        (
            Tool("load_series", "to_thread.py:load_series"),
            Tool("render_chart", "to_thread.py:render_chart"),
        ),
    ),
    Unruled(
        "queue_worker",
        talk(
            (ask("drive", dx=3, dy=4), ask("grip", force=2)), ask("drive", dx=-3, dy=-4), "Here is the cup."
        ),
        (Tool("drive", "queue_worker.py:Robot.drive", 2), Tool("grip", "queue_worker.py:Robot.grip")),
    ),
    Unruled(
        "agents_in_threads",
        (
            *talk(ask("get_document", name="charter"), "With we.", when="First worker"),
            *talk(ask("get_document", name="syllogism"), "That all men are mortal.", when="Second worker"),
        ),
        (
            Tool(
                "get_document",
                "agents_in_threads.py:OpenAIWorker.get_document agents_in_threads.py:ClaudeWorker.get_document",
                2,
            ),
        ),
    ),
    # Several agents.
    Unruled(
        "two_agents",
        (
            *talk(ask("search", query="purchase"), "To hand over the thing.", when="Lawyer"),
            *talk(ask("search", query="knee sprain"), "Three weeks.", when="Doctor"),
        ),
        (Tool("search", "two_agents.py:Lawyer.search two_agents.py:Physician.search", 2),),
    ),
    Unruled(
        "agent_as_tool",
        (
            *talk(
                ask("ask_researcher", question="How many people live there?"),
                "Chile is larger.",
                when="Write a line",
            ),
            *talk(
                (ask("lookup_population", country="Norway"), ask("lookup_population", country="Chile")),
                "5.6 and 19.7 million.",
                when="How many people",
            ),
        ),
        (
            Tool("ask_researcher", "agent_as_tool.py:ask_researcher"),
            Tool("lookup_population", "agent_as_tool.py:lookup_population", 2),
        ),
        left_alone=("agent_as_tool.py:loop",),
    ),
    # What comes back.
    Unruled(
        "many_results",
        talk(
            ask("list_invoices", year=2026),
            (ask("invoice_total", number=8), ask("mark_paid", number=8)),
            (ask("count_customers"), ask("logo")),
            "Invoice 8 is settled.",
        ),
        (
            Tool("list_invoices", "many_results.py:list_invoices"),
            Tool("invoice_total", "many_results.py:invoice_total", how="name refused"),
            Tool("mark_paid", "many_results.py:mark_paid", how="name refused"),
            Tool("count_customers", "many_results.py:count_customers"),
            Tool("logo", "many_results.py:logo", how="name refused"),
        ),
    ),
    Unruled(
        "opaque_result",
        talk(ask("connect", host="mars"), "In 3 ms."),
        (Tool("connect", "opaque_result.py:connect", how="name refused"),),
        is_opaque=True,
    ),
    Unruled(
        "same_results",
        talk(
            (ask("lock_door", door="front"), ask("arm_alarm", zone="ground floor", delay=30)), "Sleep well."
        ),
        (
            Tool("lock_door", "same_results.py:lock", how="value refused"),
            Tool("arm_alarm", "same_results.py:arm", how="value refused"),
        ),
        left_alone=("same_results.py:act",),
    ),
    Unruled(
        "large_results",
        talk(
            (ask("fetch_page", url="https://salt.example"), ask("search_archive", words=["salt", "price"])),
            "Nobody knows.",
        ),
        (
            Tool("fetch_page", "large_results.py:fetch_page"),
            Tool("search_archive", "large_results.py:search_archive"),
        ),
        left_alone=("large_results.py:cut",),
    ),
    Unruled(
        "enveloped_results",
        talk(
            ask("geocode", place="Oslo"),
            ask("distance", origin="Oslo", destination="Oslo"),
            ask("distance", origin="Oslo", destination="Stockholm"),
            "416.7 kilometres.",
        ),
        (
            Tool("geocode", "enveloped_results.py:Handlers.do_geo", how="value"),
            Tool("distance", "enveloped_results.py:Handlers.do_dist", 2, "value refused"),
        ),
        left_alone=("enveloped_results.py:route", "enveloped_results.py:envelope"),
    ),
    Unruled(
        "formatted_results",
        talk(ask("observe", station="HOPEN"), "Cold."),
        (
            Tool(
                "observe",
                "formatted_results.py:_station formatted_results.py:on_tool_call",
                how="value refused",
            ),
        ),
        left_alone=("formatted_results.py:_describe",),
    ),
    Unruled(
        "generator_tool",
        talk(ask("tail_log", service="mailer", lines=3), "It retries."),
        (Tool("tail_log", "generator_tool.py:tail_log", how="name refused"),),
    ),
    # Calls again, at once, outside, and inside.
    Unruled(
        "retried_tool",
        talk(ask("warehouse_stock", sku="A-17"), "37."),
        (Tool("warehouse_stock", "retried_tool.py:warehouse_stock", 2),),
        left_alone=("retried_tool.py:with_retries",),
    ),
    Unruled(
        "parallel_calls",
        talk(
            (
                ask("create_label", address="Kiel"),
                ask("create_label", address="Kiel"),
                ask("create_label", address="Bonn"),
                ask("create_label", address="Ulm"),
            ),
            "Four labels.",
        ),
        (Tool("create_label", "parallel_calls.py:create_label", 4),),
    ),
    Unruled(
        "warm_start",
        talk(ask("exchange_rate", base="EUR", quote="GBP"), "0.8571 euros."),
        (Tool("exchange_rate", "warm_start.py:exchange_rate", outside=2),),
    ),
    Unruled(
        "tool_helps_tool",
        talk(
            ask("plan_meeting", first="ada", second="emmy"),
            ask("find_person", name="emmy"),
            "In London. Emmy does rings.",
        ),
        (
            Tool("plan_meeting", "tool_helps_tool.py:plan_meeting"),
            Tool("find_person", "tool_helps_tool.py:find_person", runs=3),
        ),
    ),
    # One code for several tools.
    Unruled(
        "one_class",
        talk((ask("get_user", id=7), ask("get_invoices", id=7)), "Ada owes 118.50."),
        (
            Tool("get_user", "one_class.py:RestTool.run", how="name value refused"),
            Tool("get_invoices", "one_class.py:RestTool.run", how="name value refused"),
        ),
        left_alone=("one_class.py:ToolBox.run",),
    ),
    Unruled(
        "tool_factory",
        talk(
            (ask("sun_distance", planet="mars"), ask("count_moons", planet="mars")),
            "228 million km, and two.",
        ),
        (
            Tool("sun_distance", "tool_factory.py:make_lookup.<locals>.lookup"),
            Tool("count_moons", "tool_factory.py:make_lookup.<locals>.lookup"),
        ),
    ),
    Unruled(
        "partials_of_one",
        talk(ask("get_rooms", floor=3), ask("post_bookings", room="3.14", hour=10), "Room 3.14 is yours."),
        (
            Tool("get_rooms", "partials_of_one.py:call_api", how="name value"),
            Tool("post_bookings", "partials_of_one.py:call_api", how="name value"),
        ),
    ),
    Unruled(
        "proxy_object",
        talk(ask("ping_node", node="n4"), ask("drain_node", node="n4"), "It is draining."),
        (
            Tool(
                "ping_node",
                "proxy_object.py:Remote.__getattr__.<locals>.method proxy_object.py:Remote._request",
                how="value refused",
            ),
            Tool(
                "drain_node",
                "proxy_object.py:Remote.__getattr__.<locals>.method proxy_object.py:Remote._request",
                how="value refused",
            ),
        ),
        left_alone=("proxy_object.py:Remote.__getattr__",),
    ),
    Unruled(
        "twenty_functions",
        talk(ask("convert", celsius=21.5), "70.7."),
        (
            Tool(
                "convert",
                "twenty_functions.py:Adapter.convert twenty_functions.py:adapter.<locals>.RegionAdapter.convert",
                how="name value refused",
            ),
        ),
    ),
    # Ends.
    Unruled(
        "last_call",
        talk(ask("book_taxi", pickup="the station", people=2), "Done."),
        (Tool("book_taxi", "last_call.py:book_taxi", how="name refused"),),
    ),
    Unruled(
        "crashing_tool",
        talk(ask("sell", item="lamp", count=1), ask("sell", item="lamp", count=2), "Sold."),
        (Tool("sell", "crashing_tool.py:sell", 2),),
        status=1,
    ),
    Unruled(
        "submit_answer",
        talk(ask("read_meter", kind="electricity"), ask("submit_answer", answer="4312.5 kWh"), "Done."),
        (Tool("read_meter", "submit_answer.py:read_meter"), Tool("submit_answer", times=0, how="nowhere")),
    ),
    # Classes of data that the model is made to fill in. Where it is not made to, only a watch for functions tells.
    Unruled(
        "forced_form",
        (*talk(ask("Invoice", number=7, cents=0), ask("Invoice", number=7, cents=1250)),),
        (Tool("Invoice", times=0, how="form"),),
        left_alone=("forced_form.py:Invoice.is_paid", "forced_form.py:book"),
    ),
    Unruled(
        "forced_anthropic",
        talk(ask("Sentiment", mood="cross", score=0.9)),
        (Tool("Sentiment", times=0, how="form"),),
    ),
    Unruled(
        "unforced_form",
        talk(ask("Complaint", order=7, text="It is broken.")),
        (Tool("Complaint", times=0, how="form" if LEARNS else "nowhere"),),
    ),
    Unruled(
        "unforced_paid",
        talk(ask("Refund", order=7, cents=1250)),
        (Tool("Refund", "unforced_paid.py:pay_back", how="value refused"),),
    ),
    # A module with another function of a tool is imported after the tool was declared.
    Unruled(
        "hotels.agent",
        talk(ask("find_room", beds=2), "There is one."),
        (Tool("find_room", "hotels/seaside.py:find_room hotels/alpine.py:find_room", times=2),),
    ),
    # What is no tool.
    Unruled(
        "bookshop.agent",
        talk(ask("search", text="middle"), "We have Middlemarch."),
        (Tool("search", "bookshop/backend.py:search", how="name value"),),
        left_alone=("bookshop/ui.py:search",),
    ),
    Unruled(
        "decoy_helper",
        talk(ask("transfer_funds", account="77-100", amount=950), "The rent is paid."),
        (Tool("transfer_funds", "decoy_helper.py:_post", how="value refused"),),
        left_alone=("decoy_helper.py:Audit.transfer_funds",),
        unasked=("audit",),
    ),
    Unruled(
        "tool_around_helper",
        talk(ask("buy", item="mug", count=2), "Two mugs are on their way."),
        (
            Tool(
                "buy",
                "tool_around_helper.py:handle_buy tool_around_helper.py:buy",
                times=0,
                runs=1,
                how="refused",
            ),
        ),
    ),
    Unruled(
        "class_for_arguments",
        talk(ask("BookTable", guests=4, day="Friday"), "It is booked."),
        (Tool("BookTable", "class_for_arguments.py:reserve", how="value refused"),),
    ),
    Unruled(
        "value_decoys",
        talk(ask("position_value", ticker="AVO", shares=40), "7500 dollars."),
        (Tool("position_value", "value_decoys.py:_value_position", how="value"),),
        left_alone=(
            "value_decoys.py:validate",
            "value_decoys.py:log",
            "value_decoys.py:remember",
            "value_decoys.py:handle",
        ),
    ),
    Unruled(
        "text_protocol",
        talk("I look it up.\nAction: wiki[The Lena]", "Answer: a river."),
        (),
        left_alone=("text_protocol.py:wiki",),
        unasked=("wiki",),
    ),
    Unruled(
        "never_called",
        (
            *talk("Hello.", when="Hello there"),
            *talk(ask("disk_usage", device="sda1"), "83 percent.", when="sda1"),
        ),
        (
            Tool("disk_usage", "never_called.py:disk_usage"),
            Tool("format_disk", times=0),
        ),
        left_alone=("never_called.py:format_disk",),
    ),
    Unruled(
        "agent_refuses",
        talk((ask("read_table", name="regions"), ask("drop_table", name="regions")), "I may not drop it."),
        (Tool("read_table", "agent_refuses.py:read_table"), Tool("drop_table", times=0, how="name refused")),
        left_alone=("agent_refuses.py:drop_table", "agent_refuses.py:gate"),
    ),
    Unruled(
        "unknown_tool",
        talk(ask("roll_polyhedron", faces=20), ask("roll dice!", n=1), ask("roll_dice", sides=20), "18."),
        (
            Tool("roll_polyhedron", times=0, how="nowhere"),
            Tool("roll dice!", times=0, how="nowhere"),
            Tool("roll_dice", "unknown_tool.py:roll_dice"),
        ),
        left_alone=("unknown_tool.py:answer",),
    ),
    # What can't be found.
    Unruled(
        "twins",
        talk(ask("price_of", item="cello"), "1999 euros."),
        (Tool("price_of", "twins.py:from_store twins.py:from_mirror", how="refused"),),
        left_alone=("twins.py:checked_price",),
        candidates=("from_store", "from_mirror"),
    ),
    Unruled(
        "silent_ladder",
        talk(ask("set_blinds", room="office", percent=80), "They are down."),
        (Tool("set_blinds", "silent_ladder.py:_lower", how="refused"),),
    ),
    Unruled(
        "inline_in_dispatcher",
        talk(
            ask("list_events", day="2026-05-05"),
            ask("add_event", day="2026-05-05", title="run"),
            "You have time, and run.",
        ),
        (
            Tool("list_events", "inline_in_dispatcher.py:execute_tool", how="value refused"),
            Tool("add_event", "inline_in_dispatcher.py:execute_tool", how="value refused"),
        ),
    ),
    Unruled(
        "inline_in_loop",
        talk(ask("redeem_points", points=100), "Here is your voucher."),
        (Tool("redeem_points", times=0, runs=1, how="nowhere"),),
    ),
)

FAST = (
    "weather_dict", "bank_ladder", "registry_wrapped", "kitchen_methods", "class_run", "closures", "async_gather",
    "garage", "decoy_helper", "anthropic_ladder", "responses_api", "tool_raises",
)  # fmt: skip
"""The cases that each run of the tests tries; the others are slow."""

ALIKE = (
    "hotel_match_renamed", "registry_plain", "class_execute", "partials", "thread_pool", "globals_lookup", "notes.app",
    "pydantic_args", "popped_arguments", "async_stream_agent", "anthropic_async", "mcp_like", "namespaced", "camel_case",
    "tool_objects", "layered", "static_methods", "to_thread", "queue_worker", "two_agents", "same_results",
    "enveloped_results", "retried_tool", "warm_start", "tool_factory", "partials_of_one", "twenty_functions",
    "submit_answer", "text_protocol", "never_called", "unknown_tool", "silent_ladder", "inline_in_loop", "travel_match",
    "class_call", "toolfiles.main", "template_method", "local_functions", "generator_tool", "tool_helps_tool",
    "failing_retries", "mocked_plain",
)  # fmt: skip
"""The cases that are much like another one. They take too long for each build: `--thorough` tries them."""

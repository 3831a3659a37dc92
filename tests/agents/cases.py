"""The programs that are recorded and replayed, with their rules and arguments."""

from dataclasses import dataclass
from pathlib import Path

PROGRAMS = Path(__file__).parent / "programs"


@dataclass(frozen=True)
class Case:
    """One program and how it is run.

    Attributes:
        module: its name; a dotted one is run with `-m`.
        tools: names of its functions that are tools, separated by spaces.
        rules: further tables of its rule file.
        arguments, stdin: its command-line arguments and its standard input.
        status: its exit status.
        calls: whether it calls a model.
        main: whether its `main()` returns the objects that it got from SDKs and tools.
        findings: the calls outside boundaries that a run reports, each as FILE:LINE and call.
        slugs: the warnings that a run of it reports, and that a run of most programs must not.
    """

    module: str
    tools: str = ""
    rules: str = ""
    arguments: tuple[str, ...] = ()
    stdin: str = ""
    status: int = 0
    calls: bool = True
    main: bool = True
    findings: tuple[str, ...] = ()
    slugs: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.module

    def program(self) -> tuple[str, ...]:
        """Return the words after `autochron run`."""
        start = ("-m", self.module) if "." in self.module else (f"{self.module}.py",)
        return (*start, *self.arguments)

    def rule_file(self) -> str:
        """Return the text of its rule file."""
        text = f"version = 1\n{self.rules}"
        if self.tools:
            targets = ", ".join(f'"{self.module}:{tool}"' for tool in self.tools.split())
            text += f'[[boundary]]\nname = "{{__name__}}"\nkind = "tool"\ntarget = [{targets}]\n'
        return text


HTTP = '[[boundary]]\nname = "agent"\nkind = "model"\nhttp = "POST */chat/completions"\n'
SHOP = '[[boundary]]\nname = "{__name__}"\nkind = "tool"\ndefine = "shop.tools:*"\n'
RAISING = "refund pay look_up parse divide group"

CASES = (
    Case("openai_chat", "quote stock"),
    Case("openai_chat_async", "weather news"),
    Case("openai_stream", "roll"),
    Case("openai_stream_async"),
    Case("openai_stream_closed"),
    Case("openai_stream_manager"),
    Case(
        "openai_threads",
        "weather hotel",
        findings=("openai_threads.py:37 random.random", "openai_threads.py:58 threading.Thread.start"),
    ),
    Case("openai_gather", "weather"),
    Case("openai_responses", "look_up"),
    Case("openai_responses_async"),
    Case("openai_parse"),
    Case("openai_raw"),
    Case("openai_retry"),
    Case("openai_errors"),
    Case("openai_embeddings"),
    Case("anthropic_messages", "seats next_day"),
    Case("anthropic_async", "fetch"),
    Case("anthropic_stream", "roll"),
    Case("anthropic_errors"),
    Case("http_direct", rules=HTTP, findings=("http_direct.py:10 os.environ",)),
    Case("tools_raise", RAISING, calls=False),
    Case(
        "tools_async",
        "fetch count fails for_ever starts",
        calls=False,
        findings=("tools_async.py:56 asyncio.wait", "tools_async.py:58 asyncio.as_completed"),
    ),
    Case("tools_generators", "words endless breaks talks_back with_the_rest", calls=False),
    Case(
        "tools_threads",
        "work",
        calls=False,
        findings=(
            "tools_threads.py:27 concurrent.futures.as_completed",
            "tools_threads.py:31 threading.Thread.start",
        ),
    ),
    Case("tools_nested", "leaf middle top tree Desk.ask Desk.open Desk.close", calls=False),
    Case("tools_mutate", "add mark visit shuffle fill deep fail_late", calls=False),
    Case("shop.desk", rules=SHOP, arguments=("one", "--two"), calls=False),
    Case("talks", "greet", arguments=("a b", "-v"), stdin="Ada\nGrace\nJoan\nEmmy", calls=False, main=False),
    Case("uncaught", "check", status=1, calls=False, main=False),
    Case("exits", "measure", status=3, calls=False, main=False),
    Case("exits_with_text", "measure", status=1, calls=False, main=False),
)

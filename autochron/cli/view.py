"""The command `autochron view`: its options, and the calls that do the work."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import TYPE_CHECKING

from autochron.cli.command_parser import CommandParser
from autochron.cli.traces import open_trace
from autochron.cli.verbosity import note
from autochron.diff.crossings import INPUTS
from autochron.errors import UsageError

if TYPE_CHECKING:
    from autochron.viewing.page_data import PageData

_LAST_PORT = 65_535


def view(arguments: list[str]) -> int:
    """Run `autochron view`: show one or two traces as a page.

    Returns:
        The exit status, which is 0.

    Raises:
        UsageError: an option or a word is wrong, the port is taken, or the file can't be written.
        StoreError, TraceFormatError: a store or a trace file can't be read.
    """
    options = parser().read(arguments)
    words = options.words
    if len(words) not in (1, 2):
        raise UsageError(
            "autochron view wants a trace, or two to compare: a name, an id or its prefix, `last`, or an exported file"
        )
    data = (
        _trace_data(options, words[0]) if len(words) == 1 else _comparison_data(options, words[0], words[1])
    )
    from autochron.viewing.page import encode_page, write_page  # lazy: not for the help

    if options.out == "-":
        sys.stdout.buffer.write(encode_page(data))
        return 0
    if options.out is not None:
        write_page(data, options.out)
        if not options.quiet:
            sys.stdout.write(f"{options.out}: {data.title}\n")
        return 0
    return _serve(encode_page(data), options)


def parser() -> CommandParser:
    """Return the parser of the command."""
    parser = CommandParser(
        "view",
        "TRACE [OPTION ...]\nTRACE TRACE [OPTION ...]",
        "Show a trace as a page: its crossings as a tree and on a time line, the conversation with the model, inputs and"
        " outcomes. With two traces both are shown side by side. The page is served on loopback until ctrl-C, at an address"
        " that nobody can guess.",
        examples=(
            ("autochron view last", "open the latest trace in the browser"),
            ("autochron view last --out page.html", "one file, for an artefact of a build or for mail"),
            ("autochron view refund last", "two traces side by side"),
        ),
    )
    parser.add_value(
        "--out",
        "FILE",
        "write one HTML file instead, which needs no network and no server; - for standard output",
    )
    parser.add_value("--port", "PORT", "serve on this port", read=_port, default=0, unless_given="a free one")
    parser.add_flag("--no-browser", "print the address, and open no browser")
    parser.add_value(
        "--inputs",
        "HOW",
        "of two traces: a changed input of the same crossing: strict: it is a difference; warn: it is only shown; ignore: it"
        " is not looked at",
        default="strict",
        choices=INPUTS,
    )
    parser.add_places()
    return parser


def _port(text: str, option: str) -> int:
    if text.isascii() and text.isdigit() and int(text) <= _LAST_PORT:
        return int(text)
    raise UsageError(f"{option} wants a number up to {_LAST_PORT}, not {text!r}")


def _trace_data(options: Namespace, reference: str) -> PageData:
    from autochron.report.work_progress import WorkProgress  # lazy: not for the help
    from autochron.viewing.page_data import trace_page

    with WorkProgress("reading the trace", "crossings", quiet=options.quiet) as progress:
        store, name = open_trace(options, reference)
        trace = store.find(name)
        header, footer = store.outline(trace)
        total = store.count(trace)
        return trace_page(
            header, footer, store.envelopes(trace), progress=lambda done: progress.show(done, total)
        )


def _comparison_data(options: Namespace, first: str, second: str) -> PageData:
    from autochron.diff.traces import differ  # lazy: as above
    from autochron.viewing.side_by_side import comparison_page

    first_trace, second_trace = (
        store.load(name) for store, name in (open_trace(options, each) for each in (first, second))
    )
    comparison = differ(first_trace, second_trace, inputs=options.inputs)
    return comparison_page(
        comparison,
        (first_trace.envelopes, second_trace.envelopes),
        (first_trace.footer, second_trace.footer),
        inputs=options.inputs,
    )


def _serve(page: bytes, options: Namespace) -> int:
    """Serve the page until ctrl-C."""
    from autochron.viewing.server import PageServer  # lazy: as above

    with PageServer(page, options.port) as server:
        try:
            _announce(server.url, opens_browser=not options.no_browser)
            server.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            sys.stderr.write("\n")
    return 0


def _announce(url: str, *, opens_browser: bool) -> None:
    """Print the address, and open a browser there."""
    sys.stdout.write(f"{url}\n")
    sys.stdout.flush()
    note("the page is at the address above until ctrl-C")
    if opens_browser and not _opened(url):
        sys.stderr.write(
            "autochron: no browser could be opened; open the address yourself, or give --out FILE\n"
        )


def _opened(url: str) -> bool:
    """Return whether a browser was opened.

    Other users see the words that a program is started with. So the browser gets the path of a file that only this user can
    read, and that leads to the address.
    """
    import atexit  # lazy: as above
    import os
    import tempfile
    import webbrowser

    descriptor, path = tempfile.mkstemp(prefix="autochron-", suffix=".html")
    atexit.register(os.unlink, path)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(
            f'<!doctype html><meta http-equiv="refresh" content="0; url={url}"><a href="{url}">the page</a>'
        )
    try:
        return webbrowser.open(f"file://{path}")
    except (OSError, webbrowser.Error):
        return False

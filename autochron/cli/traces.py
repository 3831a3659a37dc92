"""The command `autochron traces`: its options, and the calls that do the work."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from msgspec import Struct, structs

from autochron.cli.actions import ActionParsers
from autochron.cli.trace_parsers import trace_parsers
from autochron.config import default_store, find_rule_file
from autochron.errors import StoreError, UsageError
from autochron.escaping import terminal_lines
from autochron.model import Envelope, Footer, Snapshot, Trace
from autochron.ports import Store
from autochron.report.work_progress import WorkProgress
from autochron.store import open_store

_WORDS = {"list": 0, "show": 1, "diff": 2, "export": 2, "import": 1, "prune": 0}
"""By action: how many words it takes after it."""

_WANTS = {
    "show": "a trace", "diff": "two traces", "export": "a trace and a file", "import": "a file",
}  # fmt: skip


def traces(arguments: list[str]) -> int:
    """Run `autochron traces`: list, show, compare, export, import or prune traces.

    Returns:
        The exit status: 0; for diff 1 if the traces differ.

    Raises:
        UsageError: an option or a word is wrong.
        StoreError, TraceFormatError: a store or a trace file can't be read or written.
    """
    action, options = parser().read(arguments)
    words = options.words
    if len(words) != _WORDS[action]:
        raise UsageError(f"autochron traces {action} wants {_WANTS.get(action, 'nothing')} after it")
    if action == "list":
        return _list(options)
    if action == "prune":
        return _prune(options)
    if action == "show":
        return _show(options, words[0])
    if action == "diff":
        return _diff(options, words[0], words[1])
    return _export(options, words[0], words[1]) if action == "export" else _import(options, words[0])


def parser() -> ActionParsers:
    """Return the parsers of the actions."""
    return trace_parsers()


def store_of(options: Namespace) -> Store:
    """Open the store that the options name, or the default one."""
    return open_store(store_url(options))


def store_url(options: Namespace) -> str:
    """Return the store's path or URL: of --store, else the default one beside the rules."""
    return options.store or default_store(options.rules or find_rule_file())


def open_trace(options: Namespace, reference: str) -> tuple[Store, str]:
    """Open the store of a trace, or a trace file, and return it with the trace's reference in it."""
    if reference.endswith(".jsonl"):
        if not os.path.exists(reference):
            raise StoreError(
                f"there is no trace file {reference}; `autochron traces export TRACE FILE` makes one"
            )
        return open_store(reference), "last"
    return store_of(options), reference


def _list(options: Namespace) -> int:
    from autochron.report.trace_list import write_list
    from autochron.store.glances import glances

    store = store_of(options)
    write_list(store.summaries(), glances(store), sys.stdout, as_json=options.json)
    return 0


def _show(options: Namespace, reference: str) -> int:
    from autochron.report.traces import write_trace, write_tree

    store, name = open_trace(options, reference)
    as_json = options.json
    if as_json or options.full:
        write_trace(store.load(name), sys.stdout, as_json=as_json)
    else:
        write_tree(store.record(name), sys.stdout, whole=options.all or options.verbose)
    return 0


def _diff(options: Namespace, first: str, second: str) -> int:
    from autochron.diff.traces import differ
    from autochron.report.comparison import write_comparison

    places = (open_trace(options, reference) for reference in (first, second))
    first_trace, second_trace = (store.load(name) for store, name in places)
    comparison = differ(first_trace, second_trace, inputs=options.inputs)
    write_comparison(comparison, sys.stdout, as_json=options.json)
    return 0 if comparison.same else 1


def _export(options: Namespace, reference: str, file: str) -> int:
    from autochron.store.tracefile import write_stream

    store, name = open_trace(options, reference)
    trace_id = store.find(name)
    header, footer = store.outline(trace_id)
    taken: Sequence[Snapshot] = ()
    place = ""
    if options.with_snapshots:
        from autochron.effects.carrying import take_along  # lazy: for --with-snapshots alone
        from autochron.effects.snapshots import folder_of_store
        from autochron.redaction.redactor import Redactor
        from autochron.rules.loading import load_rules

        source, target = folder_of_store(store_of_trace(options, reference)), folder_of_store(file)
        if footer is None or source is None or target is None:
            raise UsageError(
                f"trace {trace_id} has no snapshots to take along to {file}; give a file that ends with .jsonl"
            )
        rows, accepted = options.rows or (), options.accept or ()
        redactor = Redactor.of(load_rules(options.rules or find_rule_file()))
        taken = take_along(footer, [source], target.path, rows, accepted, redactor.mask)
        footer = structs.replace(footer, snapshots=taken)
        place = os.path.relpath(target.path)
    with WorkProgress(f"exporting to {file}", "crossings", quiet=options.quiet) as progress:
        total = store.count(trace_id)
        write_stream(header, _counted(store.envelopes(trace_id), total, progress), footer, file)
    carried = sum(bool(snapshot.digest) for snapshot in taken)
    if options.json:
        _write_json({"trace": trace_id, "file": file, "snapshots": carried})
    elif not options.quiet:
        words = f", with {carried} snapshots in {place}" if place else ""
        sys.stdout.write(f"{trace_id} exported to {file}{words}\n")
    return 0


def _counted(envelopes: Iterator[Envelope], total: int, progress: WorkProgress) -> Iterator[Envelope]:
    """Yield envelopes, and show how many there were."""
    for done, envelope in enumerate(envelopes, 1):
        yield envelope
        if done % 500 == 0:
            progress.show(done, total)


def store_of_trace(options: Namespace, reference: str) -> str:
    """Return the path or URL beside which a trace's snapshots lie: its file, or the store."""
    return reference if reference.endswith(".jsonl") else store_url(options)


def _import(options: Namespace, file: str) -> int:
    from autochron.store.tracefile import read_trace

    if not os.path.exists(file):
        raise StoreError(f"there is no trace file {file}")
    if os.path.isdir(file) or file.endswith(".json"):
        return _import_fixtures(options, file)
    store = store_of(options)
    with WorkProgress(f"importing {file}", "crossings", quiet=options.quiet) as progress:
        trace = read_trace(file, reseal=options.reseal)
        _put(store, trace, progress.show)
    brought = _bring_snapshots(trace.footer, file, store)
    _write_imported(options, [_Imported(trace.header.id, file, len(trace.envelopes), brought)])
    return 0


class _Imported(Struct):
    """A trace that was imported; `lacks` says what could not be taken over, a line each."""

    id: str
    file: str
    crossings: int
    snapshots: int = 0
    lacks: tuple[str, ...] = ()
    is_new: bool = True


def _import_fixtures(options: Namespace, path: str) -> int:
    """Import the fixtures of agent-chronicle: a folder with `graph.json`, a folder above such ones, or one file."""
    if options.reseal:
        raise UsageError("autochron traces import: --reseal is for trace files; fixtures have no seal")
    from autochron import __version__
    from autochron.adopt.fixtures import read_fixtures  # lazy: few import fixtures
    from autochron.rules.loading import load_rules

    imported = read_fixtures(path, load_rules(options.rules or find_rule_file()), __version__)
    store = store_of(options)
    known = {summary.header.id for summary in store.summaries()}
    done: list[_Imported] = []
    for each in imported:
        header, count = each.trace.header, len(each.trace.envelopes)
        is_new = header.id not in known
        if is_new:
            _put(store, each.trace)
        lacks = tuple(each.lacks) if is_new else ()
        done.append(_Imported(header.id, each.path, count, lacks=lacks, is_new=is_new))
    _write_imported(options, done, is_fixtures=True)
    return 0


def _write_imported(options: Namespace, done: list[_Imported], *, is_fixtures: bool = False) -> None:
    """Write which traces were imported, and which were in the store already."""
    if options.json:
        new = [
            {"id": each.id, "file": each.file, "crossings": each.crossings, "snapshots": each.snapshots}
            | {"lacks": each.lacks}
            for each in done
            if each.is_new
        ]
        present = [{"id": each.id, "file": each.file} for each in done if not each.is_new]
        _write_json({"imported": new, "present": present})
        return
    if options.quiet:
        return
    for each in done:
        if not each.is_new:
            sys.stdout.write(f"{each.id} is in the store already: {each.file}\n")
            continue
        source = f" of {each.file}" if is_fixtures else ""
        brought = f", {each.snapshots} snapshots" if each.snapshots else ""
        sys.stdout.write(f"{each.id} imported: {each.crossings} crossings{source}{brought}\n")
        for lack in each.lacks:
            sys.stdout.write(f"  {terminal_lines(lack)}\n")


def _write_json(data: dict[str, Any]) -> None:
    from msgspec.json import encode  # lazy: for --json alone

    sys.stdout.write(encode(data).decode() + "\n")


def _put(store: Store, trace: Trace, progress: Callable[[int, int], None] | None = None) -> None:
    """Write a trace into a store. `progress` is called with the number of crossings that are written, and of all."""
    sink = store.begin(trace.header)
    for number, envelope in enumerate(trace.envelopes):
        sink.put(envelope)
        if number % 500 == 499:
            sink.commit()
            if progress is not None:
                progress(number + 1, len(trace.envelopes))
    if trace.footer is not None:
        sink.end(trace.footer)
    sink.close()


def _bring_snapshots(footer: Footer | None, file: str, store: Store) -> int:
    """Copy the snapshots of a trace file into the store's folder, and return how many have contents there."""
    from autochron.effects.snapshots import folder_of_store  # lazy: few traces have any

    source, target = folder_of_store(file), folder_of_store(store.url)
    if footer is None or source is None or target is None:
        return 0
    present = [snapshot for snapshot in footer.snapshots if snapshot.digest and source.has(snapshot.digest)]
    source.bring(present, target)
    return len(present)


def _drop_snapshots(store: Store) -> None:
    """Remove snapshot contents that no trace of the store refers to."""
    from autochron.effects.snapshots import folder_of_store  # lazy: as above

    folder = folder_of_store(store.url)
    if folder is None or not os.path.isdir(folder.path):
        return
    footers = [store.outline(summary.header.id)[1] for summary in store.summaries()]
    digests = {snapshot.digest for footer in footers if footer is not None for snapshot in footer.snapshots}
    folder.drop_all_but(digests)


def _prune(options: Namespace) -> int:
    from autochron.report.traces import write_pruned
    from autochron.store import pruning

    age, size = options.max_age, options.max_size
    if age is None and size is None:
        raise UsageError(
            "autochron traces prune wants --max-age, --max-size or both; with --dry-run it only tells"
        )
    before = None
    if age is not None:
        before = pruning.moment_ago(pruning.seconds(age, "autochron traces prune: --max-age"))
    room = None if size is None else pruning.room(size, "autochron traces prune: --max-size")
    store = store_of(options)
    summaries = store.summaries()
    dropped = pruning.to_drop(summaries, begun_before=before, room=room)
    is_dry = options.dry_run
    if dropped and not is_dry:
        with WorkProgress("dropping", "traces", quiet=options.quiet) as progress:
            progress.show(0, len(dropped))
            store.drop([summary.header.id for summary in dropped])
            _drop_snapshots(store)
    write_pruned(
        dropped,
        summaries[len(dropped) :],
        sys.stdout,
        is_dry=is_dry,
        as_json=options.json,
        quiet=options.quiet,
    )
    return 0

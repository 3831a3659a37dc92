"""Note the values of a call: its input, arguments that may change, and its outcome.

The recorder itself notes plain arguments, which is the hot path. The other cases are here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from autochron.envelope import canonical, codec
from autochron.inputs import LARGE
from autochron.model import Returned
from autochron.recording import aliases, changes, named_globals

if TYPE_CHECKING:
    from autochron.crossing.crossing import Crossing
    from autochron.inputs import Inputs
    from autochron.model import BoundaryRule
    from autochron.recording.changes import ArgumentWatch
    from autochron.recording.drafts import Draft

_NO_VARIADIC = (None, None)


def note_arguments(crossing: Crossing[Draft], draft: Draft, inputs: Inputs) -> None:
    """Note the input and watch the arguments, if the input is large or is only a part of the arguments."""
    arguments, point = draft.arguments, crossing.point
    names, values = inputs.read(arguments)
    snapshots: Mapping[int, bytes] = changes.NO_SNAPSHOTS
    if inputs.large:
        growing = inputs.growing(crossing.root.lane)
        draft.input, snapshots = growing.canonical(names, values), growing.snapshots
    else:
        draft.input = body = canonical.canonical(names, values)
        inputs.large = len(body) > LARGE
    take = (
        canonical.snapshot
        if inputs.whole and not canonical.needs_limit(draft.input)
        else canonical.screened_snapshot
    )
    draft.watch = changes.watch(point, arguments, inputs.caught, inputs.changing, snapshots, take)
    if inputs.globals is not None:
        watch_globals(crossing, draft, inputs)
    if draft.watch is not None:
        ignore_receiver(crossing.rule, draft.watch)


def watch_globals(crossing: Crossing[Draft], draft: Draft, inputs: Inputs) -> None:
    """Watch the globals and cells that a tool's code names. They are looked up at its first call."""
    scopes = inputs.globals  # once: another thread may set it between two reads
    if scopes is False:
        is_own = crossing.rule.pack is None and crossing.rule.kind != "model" and inputs.changing is None
        point = crossing.point
        found = (named_globals.named_globals(point), named_globals.named_cells_of(point)) if is_own else ()
        inputs.globals = scopes = tuple(filter(None, found)) or None
    for named in scopes or ():
        draft.watch = changes.watch_globals(named, draft.watch, draft.arguments)


def ignore_receiver(rule: BoundaryRule, watched: ArgumentWatch) -> None:
    """Stop watching the receiver of a library's method if a pack's rule has a `capture`: other tasks may change it.

    An example is a session that several tasks share.
    """
    if watched.opaque and rule.pack is not None and rule.capture:
        watched.opaque = [entry for entry in watched.opaque if entry[0] != "self"]


def note_value(crossing: Crossing[Draft], draft: Draft, value: Any) -> None:
    """Note the value that a call returned as its outcome: the name of an argument if it is one, else the encoded value."""
    if changes.kind_at(type(value)) != changes.STILL:
        arguments = draft.arguments if draft.watch is None else draft.watch.arguments
        may_be_argument = crossing.point.variadic != _NO_VARIADIC
        for argument in arguments:
            if argument is value:
                may_be_argument = True
        name = changes.argument_of(crossing.point, arguments, value) if may_be_argument else None
        if name is not None:
            draft.outcome = Returned(argument=name)
            return
    if draft.watch is not None and crossing.boundary.is_tool:
        # Only for tools: a model never returns an argument of its call.
        draft.aliases = aliases.aliases_in(value, draft.watch.names())
    body = codec.encode_plain(value)
    if body is None:
        encoded = codec.encode_tagged(value)
        body = encoded.body
        if encoded.opaque:
            draft.add_opaque(aliases.without_aliases(encoded.opaque, draft.aliases or ()))
    draft.outcome = Returned(body)


def stream_end(draft: Draft, value: Any) -> Returned:
    """Encode the value that a stream returned at its end."""
    if value is None:
        return Returned()
    encoded = codec.encode(value)
    if encoded.opaque:
        draft.add_opaque(changes.below("return", encoded.opaque))
    return Returned(encoded.body)

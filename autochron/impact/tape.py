"""Values that are the same in each replay, except those of the perturbed sites.

The first replay fills a tape with the values that each line got, by lane and in order. In the other replays each line gets
the same values again, or variants of them.
"""

from __future__ import annotations

import copyreg
import pickle
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from inspect import isgeneratorfunction
from itertools import chain
from types import FrameType
from typing import TYPE_CHECKING, Any

from autochron._runtime.own_frames import drop_frames
from autochron._runtime.unpatched import getframe, os
from autochron.ambient.ambient import Values
from autochron.crossing.lanes import CURRENT
from autochron.detect.ambient_codec import (
    PLAIN,
    SEEDED,
    Draw,
    SourceForm,
    compared_arguments,
    draw_of,
    form_of,
    random_bits,
)
from autochron.detect.catalogue import BY_NAME, Source
from autochron.detect.watch.counters import SourceCount as Line
from autochron.detect.watch.counters import Through
from autochron.impact.alternative_files import text_of, with_text
from autochron.impact.alternative_values import ANSWERS, can_vary, others_of, values_with, vary
from autochron.impact.opened_files import OpenedFile
from autochron.impact.opened_files import reads as is_read
from autochron.impact.steady_clocks import gap, is_steady
from autochron.impact.temporary_names import NamedAnew, hold_names, is_named
from autochron.impact.varied_call import FIRST_SOUGHT, VariedCall
from autochron.weaving.gate import GATE

if TYPE_CHECKING:
    from autochron.impact.branch_conditions import Condition
    from autochron.model import Rules
    from autochron.project import Project

Tape = dict[tuple[str, str], list[bytes | None]]
"""For each site key and lane the pickled values; None for a value that can't be pickled."""

_LISTING = frozenset({"pathlib", "pathlib._local"})
"""Modules that call `os.listdir` on behalf of a line of the project."""

MOST = 100_000
"""The largest number of values that are kept for one site and lane."""


def site_key(call: str, file: str, line: int) -> str:
    """Return the key of a site, such as `agent.py:41 time.time`."""
    return f"{file}:{line} {call}"


class Perturbing(Values):
    """The ambient values of one replay.

    Attributes:
        is_first: whether this replay fills the tape.
        tape: the values of the first replay.
        variants: the variant of each perturbed site, by key.
        replaceable: the sites whose values can be replaced.
        varied: the sites that gave other values than the tape's.
        changes: the first value that each perturbed site was asked for, and the one that it gave instead, as text.
        single: whether each perturbed site gives another value for its first call only.
    """

    alters = True

    def __init__(
        self,
        rules: Rules,
        project: Project,
        tape: Tape | None,
        variants: Mapping[str, int],
        began: float,
        conditions: Mapping[str, Sequence[Condition]],
        words: Mapping[str, tuple[str, ...]],
        folder: str,
        attempt: int = 0,
    ) -> None:
        """Serve the values of a tape, or fill a new one where `tape` is None.

        Args:
            rules: the rules in force.
            project: the project, whose lines get the values.
            tape: the values of the first replay; None in that replay.
            variants: the variant of each perturbed site, by key.
            began: when the trace began, in seconds since 1970.
            conditions: those that single sites decide, by the site's key.
            words: those that the program looks for in contents and answers, by the site's key.
            folder: where files with other content are written.
            attempt: values that are not on the tape are drawn from this seed.
        """
        super().__init__(rules, project)
        self.is_first = tape is None
        self.tape: Tape = {} if tape is None else tape
        self.variants = variants
        self._began = began
        self._conditions = conditions
        self._folder = folder
        self.words = words
        self._seed = f" {attempt}" if attempt else ""
        self._passed = 0.0
        """Seconds by which the steady clocks are ahead of the tape."""
        self._sought: dict[tuple[str, int], Any] = {}
        """The last value that turned a condition, by the site's key and the condition's number."""
        self.replaceable: set[str] = set()
        self.varied: set[str] = set()
        self.changes: dict[str, tuple[str, str]] = {}
        self.single = False
        self._counts: dict[tuple[str, str], int] = {}

    def answers(self, source: Source) -> bool:
        return form_of(source) is not None or can_vary(source)

    def begin(self) -> None:
        """Install the patches. Sleeps are skipped unless the rules record clocks."""
        super().begin()
        if self._folder:
            hold_names(os.path.join(self._folder, "temporary"))
        if "clock" not in self._rules.ambient:
            self.watch.stand_before("time:sleep", self._sleep)
        self.watch.stand_before("os:listdir", self._listing)
        self.watch.stand_before("builtins:open", self._opening)
        for call in ANSWERS:
            self.watch.stand_before(call.replace(".", ":"), partial(self._answering, call))

    def _answering(self, call: str, _args: tuple[Any, ...], _kwargs: dict[str, Any]) -> Through | None:
        """Return what gives the answer of a process to a line of the project; None for any other.

        These functions take any arguments, so that the watch only counts their calls. Calls are counted here: see `_listing`.
        """
        self.watch.count(BY_NAME[call], 3)
        frame = getframe(2)
        owned = self._project.owns(frame.f_code.co_filename)
        return _Taped(self, BY_NAME[call], self._key_at(frame, call)) if owned else None

    def _opening(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Through | None:
        """Return what opens a file for a line of the project that reads it; None for any other.

        As with `_listing`, the patch hides the audit event, so calls are counted here.
        """
        if not is_read(args, kwargs):
            return None
        self.watch.count(BY_NAME["open"], 3)
        frame = getframe(2)
        if not self._project.owns(frame.f_code.co_filename):
            return None
        return OpenedFile(self, self._key_at(frame, "open"), self._folder)

    def _key_at(self, frame: FrameType, call: str) -> str:
        file = self._project.name(frame.f_code.co_filename)
        return site_key(call, file, frame.f_lineno or frame.f_code.co_firstlineno)

    def _listing(self, _args: tuple[Any, ...], _kwargs: dict[str, Any]) -> Through | None:
        """Return what handles a folder's listing for a line of the project; None where no such line asks for it.

        Without this patch only the audit event of `os.listdir` would report the call. The patch hides that event, so calls
        are counted here.
        """
        frame: FrameType | None = getframe(2)
        call = "os.listdir"
        while frame is not None and not self._project.owns(frame.f_code.co_filename):
            if frame.f_globals.get("__name__") not in _LISTING:
                self.watch.count(BY_NAME["os.listdir"], 3)
                return None
            call, frame = f"pathlib.Path.{frame.f_code.co_name}", frame.f_back
        if frame is None or call not in BY_NAME:
            return None
        if call == "os.listdir":  # the watch ignores the audit events of patched calls
            self.watch.count(BY_NAME[call], 3)
        return _Taped(self, BY_NAME[call], self._key_at(frame, call))

    def altered(self, line: Line, draw: Draw, kept: Any) -> Any:
        """Return a recorded value, or its variant."""
        key = self.key_of(line)
        place = (key, lane_name())
        nth = self._counts[place] = self._counts.get(place, -1) + 1
        self.replaceable.add(key)
        return self.vary(line.source, line.source.call, key, draw, kept, nth)

    def key_of(self, line: Line) -> str:
        """Return the site key of a line."""
        return site_key(line.source.call, self._project.name(line.file), line.line)

    def _through(self, line: Line) -> Through | None:
        crossing = super()._through(line)
        if crossing is not None or not can_vary(line.source):
            return crossing
        if line.source.call == "pathlib.Path.open":
            return OpenedFile(self, self.key_of(line), self._folder)
        if is_named(line.source):
            return NamedAnew(self, self.key_of(line))
        return _Taped(self, line.source, self.key_of(line))

    def vary(self, source: Source, name: str, key: str, draw: Draw, kept: Any, nth: int) -> Any:
        """Return a value, or its variant where its site is perturbed."""
        if is_steady(source.call):
            return self._steady(source, key, kept, nth)
        variant = self.variants.get(key)
        if variant is None or (self.single and key in self.varied):
            return kept
        try:
            place = f"{key} {lane_name()}"
            call = VariedCall(source, name, draw.compared, nth, place, self._began, self.words.get(key, ()))
            other = self._turning(call, key, draw, kept, variant)
        except KeyError:
            self.varied.add(key)
            raise
        except Exception:  # Unvaried, or an error of ours, which the program must not see
            return kept
        self.varied.add(key)
        if key not in self.changes:
            self._note_change(key, draw, kept, other)
        return other

    def _note_change(self, key: str, draw: Draw, kept: Any, other: Any) -> None:
        """Note the first value of a site and the one that it gets instead, as far as their texts tell them apart."""
        shown = _rebuilding(draw)
        before, after = shown_value(shown(kept)), shown_value(shown(other))
        if before != after and before and after:
            self.changes[key] = before, after

    def _steady(self, source: Source, key: str, kept: Any, nth: int) -> Any:
        """Return the reading of a steady clock, after all that has passed.

        A clock that never goes back can't show another value on one line alone. So time passes before the readings of a
        perturbed line, or right after them where its variant is inverted. Between the two only the line's values differ.
        """
        unit = 1e9 if source.call.endswith("_ns") else 1
        variant = self.variants.get(key)
        if variant is None:
            return kept + type(kept)(self._passed * unit)
        self.varied.add(key)
        number = variant if variant >= 0 else ~variant
        seconds = gap(number, nth, len(self.tape.get((key, lane_name()), ())))
        if variant >= 0:
            self._passed += seconds
        reading = kept + type(kept)(self._passed * unit)
        if variant < 0:
            self._passed += seconds
        return reading

    def _turning(self, call: VariedCall, key: str, draw: Draw, kept: Any, variant: int) -> Any:
        """Return a variant of a value, from `FIRST_SOUGHT` on one that turns a condition of the program."""
        conditions = self._conditions.get(key, ())
        if variant < FIRST_SOUGHT or not conditions or call.nth >= _TURNED or call.source.call in SEEDED:
            return vary(call, kept, variant)
        number = (variant - FIRST_SOUGHT) // 2 % len(conditions)
        is_free = call.source.category in _FREE_TEXTS
        texts = [text for text in conditions[number].texts if is_free and text != text_of(kept)]
        if variant % 2 and texts and kept is None:
            return texts[(variant // 2 + call.nth) % len(texts)]
        if variant % 2 and texts and text_of(kept) is not None:
            return with_text(kept, texts[(variant // 2 + call.nth) % len(texts)])
        if variant % 2 and call.nth:
            return kept  # only the first value
        last = self._sought.get((key, number))
        candidates = [] if last is None else [last]
        try:
            found = conditions[number].other_value(
                kept,
                chain(candidates, values_with(texts, kept), others_of(call, kept)),
                _rebuilding(draw),
            )
        except LookupError:
            return vary(call, kept, variant)
        self._sought[key, number] = found
        return found

    def replacement(self, source: Source, original: Callable[..., Any], key: str) -> Callable[..., Any]:
        """Return the function that makes values which are not on the tape.

        It is the trace's clock or a seeded generator, if the source has one, so that each replay gets the same values.
        """
        if self.inventor is not None and form_of(source) is not None:
            return self.inventor.replacement(source.call, original, lane_name() + self._seed, key)
        return random_bits if source.call in SEEDED else original

    def next_of(self, key: str) -> tuple[int, bytes | None]:
        """Count a value of a site. Return its number from 0, and its pickled form on the tape, None where there is none."""
        place = (key, lane_name())
        nth = self._counts[place] = self._counts.get(place, -1) + 1
        values = self.tape.get(place, ())
        return nth, values[nth] if nth < len(values) and not self.is_first else None

    def keep(self, key: str, kept: Any) -> None:
        """Append a value to the tape."""
        values = self.tape.setdefault((key, lane_name()), [])
        if len(values) < MOST:
            values.append(_packed(kept))
            if values[-1] is not None:
                self.replaceable.add(key)

    def skip(self, key: str) -> None:
        """Append an empty place to the tape, for a call that raised."""
        self.tape.setdefault((key, lane_name()), []).append(None)


class _Taped:
    """Serves the calls of one line from the tape, or puts their values onto it."""

    __slots__ = ("_key", "_owner", "_source")

    def __init__(self, owner: Perturbing, source: Source, key: str) -> None:
        self._owner = owner
        self._source = source
        self._key = key

    def __call__(self, original: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        form = form_of(self._source) or _FORMS.get(self._source.call, PLAIN)
        draw = None if GATE[0] is None else draw_of(form, original, args, kwargs)
        try:
            return original(*args, **kwargs) if draw is None else self._value(draw, original)
        except BaseException as error:
            drop_frames(error)
            raise

    def _value(self, draw: Draw, original: Callable[..., Any]) -> Any:
        """Return a call's value from the tape, or a new one that is put onto it."""
        owner, key = self._owner, self._key
        nth, packed = owner.next_of(key)
        if packed is not None:
            kept = pickle.loads(packed)  # noqa: S301 - pickled by this command
        else:
            try:
                kept = draw.draw(owner.replacement(self._source, original, key))
            except BaseException:
                if owner.is_first:
                    owner.skip(key)
                raise
            if owner.is_first:
                owner.keep(key, kept)
        name = getattr(original, "__name__", "")
        return draw.rebuild(owner.vary(self._source, name, key, draw, kept, nth))


def _rebuilding(draw: Draw) -> Callable[[Any], Any]:
    """Return what rebuilds a value for a condition; a value that does not fit makes it unknown."""

    def rebuild(kept: Any) -> Any:
        try:
            return draw.rebuild(kept)
        except Exception:
            return None

    return rebuild


def shown_value(value: Any) -> str:
    """Return a value as text, shortened; empty where its text says nothing of it."""
    try:
        text = repr(value)
    except Exception:  # of an object of the program
        return ""
    if " object at 0x" in text:
        return ""
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


_SHOWN = 60
"""Characters of a value that are kept."""
_FREE_TEXTS = frozenset({"env", "host", "files", "subprocess"})
"""The categories whose values may be any text."""
_TURNED = 20
"""How many values of a site are sought in one replay."""


def _listed(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Draw | None:
    """Return how a listing is recorded. From Python 3.13 on it is made at once; before, a generator calls `os.listdir`."""
    if isgeneratorfunction(function):
        return PLAIN.encode(function, args, kwargs)
    return Draw(compared_arguments(args, kwargs), lambda source: list(source(*args, **kwargs)), iter)


_FORMS = {"pathlib.Path.iterdir": SourceForm((), _listed)}
"""Forms of sources whose values are replaced here but never recorded."""


def _named_tuple(module: str, name: str, values: tuple[Any, ...]) -> Any:
    """Return a named tuple of the type that a module has under a name."""
    return getattr(sys.modules[module], name)._make(values)


def _note_type(value: Any) -> None:
    """Have a named tuple pickled by the name that its module has for its type, such as that of `shutil.disk_usage`."""
    kind = type(value)
    if not isinstance(value, tuple) or not hasattr(kind, "_make"):
        return
    module = sys.modules.get(kind.__module__)
    name = next((name for name, found in vars(module).items() if found is kind), None) if module else None
    if name is not None and name != kind.__qualname__:
        copyreg.pickle(kind, lambda value: (_named_tuple, (kind.__module__, name, tuple(value))))


def _packed(value: Any) -> bytes | None:
    """Return a value pickled; None if it can't be pickled and unpickled, such as an iterator over a folder."""
    _note_type(value)
    try:
        packed = pickle.dumps(value)
        pickle.loads(packed)  # noqa: S301 - pickled one line above
    except Exception:
        return None
    return packed


def lane_name() -> str:
    """Return the name of the current lane; empty outside of all lanes."""
    current = CURRENT.get(None)
    return "" if current is None else str(current.root.lane)

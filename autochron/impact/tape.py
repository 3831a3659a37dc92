"""Values that are the same in each replay, but for those of the sites that are perturbed.

The first replay fills a tape: what each line asked for and got, by lane and in order. In the others a line is given that
again, or a variant of it.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from inspect import isgeneratorfunction
from types import FrameType
from typing import TYPE_CHECKING, Any

from autochron._runtime.unpatched import getframe
from autochron.ambient.ambient import Values
from autochron.crossing.lanes import CURRENT
from autochron.detect.ambient_codec import PLAIN, SEEDED, Draw, SourceForm, form_of, given, random_bits
from autochron.detect.catalogue import BY_NAME, Source
from autochron.detect.watch.counters import SourceCount as Line
from autochron.detect.watch.counters import Through
from autochron.impact.alternative_values import Unvaried, VariedCall, can_vary, vary
from autochron.weaving.gate import GATE

if TYPE_CHECKING:
    from autochron.model import Rules
    from autochron.project import Project

Tape = dict[tuple[str, str], list[bytes | None]]
"""By site and lane the values, pickled; None for one that can't be."""

_LISTING = frozenset({"pathlib", "pathlib._local"})
"""The modules that list a folder for a line."""

MOST = 100_000
"""Values of one site that are kept."""


def site_key(call: str, file: str, line: int) -> str:
    """Name a site as the tape does."""
    return f"{file}:{line} {call}"


class Perturbing(Values):
    """The values of one replay."""

    alters = True

    def __init__(
        self, rules: Rules, project: Project, tape: Tape | None, variants: Mapping[str, int]
    ) -> None:
        """Take what the first replay kept, None in that one, and the variant of each site that is perturbed."""
        super().__init__(rules, project)
        self.is_first = tape is None
        self.tape: Tape = {} if tape is None else tape
        self.variants = variants
        self.replaceable: set[str] = set()
        """The sites whose values can be replaced."""
        self.varied: set[str] = set()
        """The sites that gave other values."""
        self._counts: dict[tuple[str, str], int] = {}

    def answers(self, source: Source) -> bool:
        return form_of(source) is not None or can_vary(source)

    def begin(self) -> None:
        """Put on the patches of what is asked for; nobody waits for time to pass."""
        super().begin()
        if "clock" not in self._rules.ambient:
            self.watch.stand_before("time:sleep", self._sleep)
        self.watch.stand_before("os:listdir", self._listing)

    def _listing(self, _args: tuple[Any, ...], _kwargs: dict[str, Any]) -> Through | None:
        """Return how a folder is listed for a line of the project, of which an audit event tells otherwise."""
        frame: FrameType | None = getframe(2)
        call = "os.listdir"
        while frame is not None and not self._project.owns(frame.f_code.co_filename):
            if frame.f_globals.get("__name__") not in _LISTING:
                self.watch.counted(BY_NAME["os.listdir"], 3)
                return None
            call, frame = f"pathlib.Path.{frame.f_code.co_name}", frame.f_back
        if frame is None or call not in BY_NAME:
            return None
        if call == "os.listdir":  # its event is not told from beneath a hook
            self.watch.counted(BY_NAME[call], 3)
        file = self._project.name(frame.f_code.co_filename)
        return _Taped(
            self, BY_NAME[call], site_key(call, file, frame.f_lineno or frame.f_code.co_firstlineno)
        )

    def altered(self, line: Line, draw: Draw, kept: Any) -> Any:
        """Return a recorded value, or its variant."""
        key = self.key_of(line)
        place = (key, lane_name())
        nth = self._counts[place] = self._counts.get(place, -1) + 1
        self.replaceable.add(key)
        return self.vary(line.source, line.source.call, key, draw, kept, nth)

    def key_of(self, line: Line) -> str:
        """Name a line as the tape does."""
        return site_key(line.source.call, self._project.name(line.file), line.line)

    def _through(self, line: Line) -> Through | None:
        crossing = super()._through(line)
        if crossing is not None or not can_vary(line.source):
            return crossing
        return _Taped(self, line.source, self.key_of(line))

    def vary(self, source: Source, name: str, key: str, draw: Draw, kept: Any, nth: int) -> Any:
        """Return a value, or its variant where its site is perturbed."""
        variant = self.variants.get(key)
        if variant is None:
            return kept
        try:
            other = vary(VariedCall(source, name, draw.given, nth, f"{key} {lane_name()}"), kept, variant)
        except (Unvaried, ArithmeticError, ValueError):  # of a date past the last one, too
            return kept
        except KeyError:
            self.varied.add(key)
            raise
        self.varied.add(key)
        return other

    def instead(self, source: Source, original: Callable[..., Any], key: str) -> Callable[..., Any]:
        """Return what a value comes from that is not on the tape: the trace's time, and chance that is the same each time."""
        if self.inventor is not None and form_of(source) is not None:
            return self.inventor.instead(source.call, original, lane_name(), key)
        return random_bits if source.call in SEEDED else original

    def next_of(self, key: str) -> tuple[int, bytes | None]:
        """Count a value of a site; give its number, and what the tape has of it."""
        place = (key, lane_name())
        nth = self._counts[place] = self._counts.get(place, -1) + 1
        values = self.tape.get(place, ())
        return nth, values[nth] if nth < len(values) and not self.is_first else None

    def keep(self, key: str, kept: Any) -> None:
        """Put a value onto the tape."""
        values = self.tape.setdefault((key, lane_name()), [])
        if len(values) < MOST:
            values.append(_packed(kept))
            if values[-1] is not None:
                self.replaceable.add(key)

    def skip(self, key: str) -> None:
        """Leave a value's place on the tape empty."""
        self.tape.setdefault((key, lane_name()), []).append(None)


class _Taped:
    """How the calls of one line go."""

    __slots__ = ("_key", "_owner", "_source")

    def __init__(self, owner: Perturbing, source: Source, key: str) -> None:
        self._owner = owner
        self._source = source
        self._key = key

    def __call__(self, original: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        owner, key = self._owner, self._key
        if GATE[0] is None:
            return original(*args, **kwargs)
        form = form_of(self._source) or _FORMS.get(self._source.call, PLAIN)
        try:
            draw = form.apart(original, args, kwargs)
        except Exception:  # of the arguments' own; the source says it better
            draw = None
        if draw is None:
            return original(*args, **kwargs)
        nth, packed = owner.next_of(key)
        if packed is not None:
            kept = pickle.loads(packed)  # noqa: S301 - what this very command has pickled
        else:
            try:
                kept = draw.draw(owner.instead(self._source, original, key))
            except BaseException:
                if owner.is_first:
                    owner.skip(key)
                raise
            if owner.is_first:
                owner.keep(key, kept)
        name = getattr(original, "__name__", "")
        return draw.made(owner.vary(self._source, name, key, draw, kept, nth))


def _listed(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Draw | None:
    """Take a listing apart that is made at once, as from Python 3.13 on; before, it is a generator that asks `os.listdir`."""
    if isgeneratorfunction(function):
        return PLAIN.apart(function, args, kwargs)
    return Draw(given(args, kwargs), lambda source: list(source(*args, **kwargs)), iter)


_FORMS = {"pathlib.Path.iterdir": SourceForm((), _listed)}
"""Of sources whose values can be replaced, and not recorded."""


def _packed(value: Any) -> bytes | None:
    """Pickle a value that is the same when it is made again; None for others, such as what is read bit by bit."""
    try:
        packed = pickle.dumps(value)
        pickle.loads(packed)  # noqa: S301 - see above
    except Exception:
        return None
    return packed


def lane_name() -> str:
    """Name the lane that asks."""
    current = CURRENT.get(None)
    return "" if current is None else str(current.root.lane)

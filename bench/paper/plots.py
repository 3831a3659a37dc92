"""Pictures of the study, as SVG that looks right on a light page and on a dark one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from xml.sax.saxutils import escape

from bench.paper.table import PAPER_PASSES, Study

# Written by hand: two pictures of boxes and words need no library, and come out the same on every machine.
_STYLE = """\
text { font: 13px -apple-system, "Segoe UI", "Noto Sans", Helvetica, Arial, sans-serif; fill: #24292f }
.small { font-size: 11px; fill: #57606a }
.end { text-anchor: end }
.middle { text-anchor: middle }
.first { fill: #1f7a4d }
.second { fill: #8cc5a4 }
.none { fill: #e3e6ea }
.on { fill: #ffffff }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .small { fill: #9198a1 }
  .first { fill: #3fb27a }
  .second { fill: #24694a }
  .none { fill: #2d333b }
  .on { fill: #0d1117 }
}
"""


def draw(study: Study, folder: Path) -> list[Path]:
    """Draw what each method of testing catches, and what a pass takes; gives the files."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for name, picture in pictures(study).items():
        files.append(folder / f"{name}.svg")
        files[-1].write_text(picture, encoding="utf-8")
    return files


def pictures(study: Study) -> dict[str, str]:
    """Return the pictures by name; that of the passes needs their times."""
    found = {"methods": _methods(study)}
    return found if study.costs is None else {**found, "passes": _passes(study)}


def _methods(study: Study) -> str:
    """Draw a box for each incident and method: whether the method fails on the unguarded tool."""
    methods = {
        "cut-point": [row.detected for row in study.rows],
        "serve everything": [row.stubbed for row in study.rows],
        "mocks": [row.mocked for row in study.rows],
    }
    left, top, step, height = 128, 92, 40, 34
    parts = []
    for place, row in enumerate(study.rows):
        x, y = left + place * step + 20, top - 8
        parts.append(f'<text transform="translate({x} {y}) rotate(-38)">{escape(row.name)}</text>')
    for at, (method, caught) in enumerate(methods.items()):
        y = top + at * height
        parts.append(_text(left - 10, y + 20, method, "end"))
        for place, is_caught in enumerate(caught):
            x = left + place * step
            parts.append(_box(x, y, step - 4, height - 4, "first" if is_caught else "none"))
            if is_caught:
                parts.append(_text(x + (step - 4) / 2, y + 20, "✓", "middle on"))
        parts.append(
            _text(left + len(caught) * step + 8, y + 20, f"{sum(caught)} of {len(caught)}"),
        )
    bottom = top + len(methods) * height
    parts.append(_text(left, bottom + 18, "✓ the test fails on the tool without its guard", "small"))
    return _picture(
        left + len(study.rows) * step + 76, bottom + 28, "What each method of testing catches", parts
    )


def _passes(study: Study) -> str:
    """Draw what a pass over six agents of plain functions takes."""
    left, scale, height = 160, 105, 52
    parts = list(_bars(study, left, scale, height))
    shown = sum("end" in part for part in parts)
    y = 8 + shown * height
    parts += [_box(left, y, 12, 12, "first"), _text(left + 18, y + 11, "everything served", "small")]
    parts += [_box(left + 130, y, 12, 12, "second"), _text(left + 148, y + 11, "each tool live", "small")]
    parts.append(_text(left, y + 32, "ms for a pass over six agents of three crossings", "small"))
    return _picture(left + 3.6 * scale + 60, y + 42, "What a pass over six agents takes", parts)


def _bars(study: Study, left: int, scale: int, height: int) -> Iterator[str]:
    costs = study.costs
    assert costs is not None
    shown: dict[str, tuple[float | None, float | None]] = {
        "autochron": (costs.full_stub, costs.cut_point),
        "agent-chronicle 0.5.0": (costs.full_stub_peer, costs.cut_point_peer),
        "the paper": PAPER_PASSES,
    }
    measured = {name: times for name, times in shown.items() if None not in times}
    for at, (name, times) in enumerate(measured.items()):
        y = 8 + at * height
        yield _text(left - 10, y + 24, name, "end")
        for below, (taken, kind) in enumerate(zip(times, ("first", "second"), strict=True)):
            width = scale * (taken or 0)
            yield _box(left, y + 19 * below, width, 16, kind)
            yield _text(left + width + 6, y + 19 * below + 12, f"{taken:.2f}", "small")


def _box(x: float, y: float, width: float, height: float, kind: str) -> str:
    return f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:.1f}" height="{height:g}" rx="3"/>'


def _text(x: float, y: float, text: str, kind: str = "") -> str:
    return f'<text class="{kind}" x="{x:g}" y="{y:g}">{escape(text)}</text>'


def _picture(width: float, height: float, title: str, parts: Iterable[str]) -> str:
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">\n<title>{escape(title)}</title>'
    return "\n".join([head, f"<style>\n{_STYLE}</style>", *parts, "</svg>"]) + "\n"

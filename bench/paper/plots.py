"""Pictures of the study."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench.paper.table import Study

_CAUGHT, _MISSED, _TEXT = "#2f6f4f", "#d9d4c7", "#333333"


def draw(study: Study, folder: Path) -> list[Path]:
    """Draw what each method of testing catches, and what a pass takes; gives the files."""
    import matplotlib as mpl  # lazy: an extra, and half a second

    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "autochron", "svg.fonttype": "none", "font.family": "sans-serif"})
    from matplotlib import pyplot as plt

    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for name, picture in (("methods", _methods), ("passes", _passes)):
        figure: Any = picture(study, plt)
        files.append(folder / f"{name}.svg")
        figure.savefig(files[-1], metadata={"Date": None}, bbox_inches="tight")
        plt.close(figure)
    return files


def _methods(study: Study, pyplot: Any) -> Any:
    """Draw a field for each incident and method: whether the method fails on the unguarded tool."""
    methods = {
        "cut-point": [row.detected for row in study.rows],
        "serve everything": [row.stubbed for row in study.rows],
        "mocks": [row.mocked for row in study.rows],
    }
    figure, axes = pyplot.subplots(figsize=(1.6 + 0.62 * len(study.rows), 2.1))
    for at, (method, caught) in enumerate(methods.items()):
        for place, is_caught in enumerate(caught):
            axes.add_patch(
                pyplot.Rectangle(
                    (place + 0.06, -at + 0.06), 0.88, 0.88, color=_CAUGHT if is_caught else _MISSED
                )
            )
        total = f"{sum(caught)} of {len(caught)}"
        axes.text(-0.15, -at + 0.5, method, ha="right", va="center", color=_TEXT)
        axes.text(len(caught) + 0.15, -at + 0.5, total, ha="left", va="center", color=_TEXT)
    for place, row in enumerate(study.rows):
        axes.text(place + 0.5, 1.12, row.name, rotation=35, ha="left", va="bottom", color=_TEXT, fontsize=9)
    axes.set_xlim(0, len(study.rows))
    axes.set_ylim(1 - len(methods), 1)
    axes.axis("off")
    return figure


def _passes(study: Study, pyplot: Any) -> Any:
    """Draw what a pass over six agents of plain functions takes."""
    costs = study.costs
    shown = {"autochron": (costs.full_stub, costs.cut_point)}
    if costs.full_stub_peer is not None and costs.cut_point_peer is not None:
        shown["agent-chronicle 0.5.0"] = costs.full_stub_peer, costs.cut_point_peer
    shown["the paper"] = 3.5, 3.6
    figure, axes = pyplot.subplots(figsize=(6.4, 0.9 + 0.55 * len(shown)))
    for at, (stub, cut) in enumerate(shown.values()):
        axes.barh(-at + 0.17, stub, height=0.3, color=_CAUGHT, label="everything served" if at == 0 else None)
        axes.barh(-at - 0.17, cut, height=0.3, color="#8fb39a", label="each tool live" if at == 0 else None)
        axes.text(stub + 0.04, -at + 0.17, f"{stub:.2f}", va="center", fontsize=8, color=_TEXT)
        axes.text(cut + 0.04, -at - 0.17, f"{cut:.2f}", va="center", fontsize=8, color=_TEXT)
    axes.set_yticks([-at for at in range(len(shown))], list(shown))
    axes.set_xlabel("ms for a pass over six agents of three crossings")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8, loc="upper right")
    return figure

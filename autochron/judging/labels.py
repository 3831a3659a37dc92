"""Labels: people's ratings of subjects, one JSON object per line."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from autochron.errors import LabelsError

FIELDS = ("subject", "label", "rubric")


class Label(Struct, frozen=True):
    """One subject with a person's rating."""

    line: int
    rubric: str
    subject: Any
    label: bool | float
    """Whether the subject is good, or how good it is, from 0 to 1."""


def read_labels(path: str, rubric: str | None) -> list[Label]:
    """Read a file of labels.

    Args:
        path: the path of the file.
        rubric: the rubric for the lines that have none.

    Raises:
        LabelsError: the file can't be read, has no labels, or has an invalid line.
    """
    try:
        with open(path, "rb") as file:
            lines = file.read().splitlines()
    except OSError as error:
        raise LabelsError(
            f"{path} can't be read ({error.strerror}); give a file of labels, one JSON object a line"
        ) from error
    labels = [_label(path, number, line, rubric) for number, line in enumerate(lines, 1) if line.strip()]
    if not labels:
        raise LabelsError(f'{path} has no labels; write lines such as {{"subject": "…", "label": true}}')
    return labels


def _label(path: str, number: int, line: bytes, rubric: str | None) -> Label:
    place = f"{path}:{number}"
    try:
        fields = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise LabelsError(f"{place}: this is no JSON ({error}); write one JSON object a line") from error
    if not isinstance(fields, dict):
        raise LabelsError(f'{place}: this is no object; write {{"subject": …, "label": true}}')
    for name in fields:
        if name not in FIELDS:
            from autochron.rules.nearest import nearest  # lazy: difflib

            near = nearest(FIELDS, name)
            hint = f"did you mean {near}?" if near else f"a line has {', '.join(FIELDS)}"
            raise LabelsError(f"{place}: there is no field {name!r}; {hint}")
    for name in FIELDS[:2]:
        if name not in fields:
            raise LabelsError(f"{place}: there is no {name}; add one")
    label, label_rubric = fields["label"], fields.get("rubric", rubric)
    if not isinstance(label, bool | int | float) or not 0 <= label <= 1:
        shown = msgspec.json.encode(label).decode()
        raise LabelsError(f"{place}: the label is {shown}; give true, false or a number from 0 to 1")
    if label_rubric is None:
        raise LabelsError(f"{place}: there is no rubric; add one to the line, or give --rubric for all")
    if not isinstance(label_rubric, str) or not label_rubric.strip():
        raise LabelsError(f"{place}: the rubric is no text; say what a good subject is")
    return Label(number, label_rubric, fields["subject"], label if isinstance(label, bool) else float(label))

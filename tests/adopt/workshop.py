"""Helpers that write a project, and plan or make its adoption."""

import os
import textwrap
import tomllib

from autochron.adopt.adoption import carry_out, plan


def write(folder, files):
    """Write files, given by name; texts are dedented, and bytes are written as they are."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else textwrap.dedent(content).encode())
    return folder


def adopted(folder, *names):
    """Adopt files of a folder; return the texts of all sources, and the tables of the rules as plain data."""
    adoption = plan([os.path.join(folder, name) for name in names or (".",)])
    assert adoption.refusals == []
    carry_out(adoption)
    return adoption, tables(folder)


def tables(folder):
    """Return the `[[boundary]]` tables of a folder's rules."""
    path = folder / "autochron.toml"
    return tomllib.loads(path.read_text("utf-8")).get("boundary", []) if path.exists() else []


def refused(folder, *names):
    """Return what is refused, without the folder's path; check that a refusal changes nothing."""
    before = contents(folder)
    adoption = plan([os.path.join(folder, name) for name in names or (".",)])
    assert (adoption.changes, adoption.tables) == ([], [])
    assert contents(folder) == before
    return [
        text.replace(f"{folder}{os.sep}.{os.sep}", "").replace(f"{folder}{os.sep}", "")
        for text in adoption.refusals
    ]


def contents(folder):
    """Return the bytes of all files below a folder, by their paths."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}

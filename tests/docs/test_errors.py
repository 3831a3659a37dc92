"""`docs/errors.md` has an entry for each slug of the source, and no other.

A slug is the word in parentheses that ends a message. It is written in the source in one of four forms:

1. A class sets it: `slug = "bad-rule"`, as those of `autochron.errors` do.
2. A string ends with text, a space and the slug: `"… could not be written (lost)"`. The whole literal counts, with its parts
   joined and a placeholder for each value. So `"(missing)"` is no slug, since no text precedes it. `"wrap(client)"` is none,
   since no space does. A category may stand before the slug: `({category}; unmarked-call)`. Docstrings are no messages.
3. It is the third argument, or `slug=`, of `Unwoven` or `Ledger.refuse`: a string, or a constant of a module. The report of
   a run ends each such entry with its slug. The default of a parameter `slug` counts as well.
4. It is a kind of `Divergence`, which reports write in the same place. The kinds are read from its annotation.

`NO_SLUGS` lists what these forms find although it is no slug, with the reason.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "errors.md").read_text("utf-8")
GROUPS = [
    "Rules",
    "Recording",
    "Replay",
    "Check and impact",
    "Incidents",
    "Mutate",
    "Store",
    "Plugin",
    "Judging",
    "Provider",
]

SLUG = r"[a-z]+(?:-[a-z]+)*"
ENDING = re.compile(rf"\S \((?:\S+; )?({SLUG})\)\n?\Z")
CONSTANT = re.compile(r"[A-Z][A-Z_]*")
HAS_ENTRY = re.compile(r"\b(?:slug|Unwoven|refuse|Divergence)\b")
"""One of the words that each slug of the forms 1, 3 and 4 stands beside."""

NO_SLUGS = {
    "autochron": "the slug of the base class, which is never raised itself",
}


def text_of(node: ast.AST) -> str | None:
    """Return the text of a literal, with `{}` for each placeholder, or None for any other node."""
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part) or "{}" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def literals(tree: ast.AST) -> Iterator[str]:
    """Yield each whole literal. Docstrings don't count, and of an f-string's parts only those in its placeholders."""
    waiting = [tree]
    while waiting:
        for child in ast.iter_child_nodes(waiting.pop()):
            if isinstance(child, ast.Expr) and text_of(child.value) is not None:
                continue
            text = text_of(child)
            if text is None:
                waiting.append(child)
                continue
            yield text
            waiting.extend(getattr(child, "values", ()))


def constants(tree: ast.Module) -> dict[str, str]:
    """Return the texts that a module assigns to names."""
    return {
        target.id: text
        for node in tree.body
        if isinstance(node, ast.Assign) and (text := text_of(node.value)) is not None
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def of_classes(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        for line in node.body if isinstance(node, ast.ClassDef) else ():
            targets = getattr(line, "targets", [getattr(line, "target", None)])
            if any(isinstance(target, ast.Name) and target.id == "slug" for target in targets):
                yield text_of(line.value) or "" if line.value is not None else ""


def of_entries(tree: ast.AST, named: dict[str, str]) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if called in {"Unwoven", "refuse"}:
                values = [*node.args[2:3], *(value.value for value in node.keywords if value.arg == "slug")]
                for value in values:
                    if isinstance(value, ast.Name) and CONSTANT.fullmatch(value.id):
                        yield named[value.id]
                    else:
                        yield text_of(value) or ""
        elif isinstance(node, ast.arguments):
            positional = [*node.posonlyargs, *node.args]
            with_default = positional[len(positional) - len(node.defaults) :]
            yield from (
                text_of(default) or ""
                for argument, default in [
                    *zip(with_default, node.defaults, strict=True),
                    *zip(node.kwonlyargs, node.kw_defaults, strict=True),
                ]
                if argument.arg == "slug" and default is not None
            )


def of_divergences(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.name == "Divergence":
            for line in node.body:
                if isinstance(line, ast.AnnAssign) and getattr(line.target, "id", "") == "kind":
                    yield from literals(line.annotation)


def slugs(sources: list[str]) -> set[str]:
    """Return the slugs in the sources of modules."""
    trees = [ast.parse(source) for source in sources]
    named = {name: text for tree in trees for name, text in constants(tree).items()}
    result = set()
    for source, tree in zip(sources, trees, strict=True):
        result.update(match[1] for text in literals(tree) if (match := ENDING.search(text)))
        if HAS_ENTRY.search(source):  # to walk through all modules three times takes a second
            result.update([*of_classes(tree), *of_entries(tree, named), *of_divergences(tree)])
    return result - {""}


@cache
def of_source() -> set[str]:
    return slugs([file.read_text("utf-8") for file in sorted((ROOT / "autochron").rglob("*.py"))])


def sections(page: str) -> dict[str, list[str]]:
    """Return the slugs of each section of a page, in order."""
    parts = re.split(r"^## (.+)\n", page, flags=re.MULTILINE)[1:]
    return {
        title: re.findall(rf"^- `({SLUG})`: ", text, re.MULTILINE)
        for title, text in zip(parts[::2], parts[1::2], strict=True)
    }


def test_the_page_has_each_slug_of_the_source_and_no_other():
    listed = {slug for group in sections(PAGE).values() for slug in group}
    assert listed == of_source() - NO_SLUGS.keys()


def test_each_exception_is_still_needed():
    assert NO_SLUGS.keys() <= of_source()


def test_slugs_are_grouped_sorted_and_listed_once():
    groups = sections(PAGE)
    assert list(groups) == GROUPS
    assert groups == {title: sorted(group) for title, group in groups.items()}
    everything = [slug for group in groups.values() for slug in group]
    assert len(everything) == len(set(everything))


def test_each_line_of_the_list_is_an_entry():
    listed = PAGE.partition("\n## ")[2]
    assert len(re.findall(r"^- ", listed, re.MULTILINE)) == sum(
        len(group) for group in sections(PAGE).values()
    )


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('class BadError(Exception):\n    slug: ClassVar[str] = "bad"', {"bad"}),
        ('class BadError(BaseError):\n    slug = "very-bad"', {"very-bad"}),
        ('class Answer:\n    slug: str = ""', set()),
        ('raise ValueError("it is lost (lost)")', {"lost"}),
        ('tell(f"{what} is lost" f" ({count}) (lost)")', {"lost"}),
        ('tell(f"{what} (lost)\\n")', {"lost"}),
        ('tell(f"{name} ({each.category}; lost)")', {"lost"}),
        ("tell(f\"{what}{'' if x else ' and this (lost)'}\")", {"lost"}),
        ('"""A docstring (lost)"""', set()),
        ('shown = "(missing)"', set()),
        ('tell("use autochron.wrap(client)")', set()),
        ('tell("a duration (in seconds) is missing")', set()),
        ('tell(f"{path} can\'t be read ({error.strerror})")', set()),
        ('OPEN = "open"\nnoted(Unwoven(what, why, OPEN))', {"open"}),
        ('ledger.refuse(what, why, "open")', {"open"}),
        ('Unwoven(what=what, reason=why, slug="open")', {"open"}),
        ("ledger.refuse(entry.what, entry.reason, entry.slug)", set()),
        ('def refuse(what, reason, slug="shut"): ...', {"shut"}),
        ('def refuse(what, reason, *, mode, slug="shut"): ...', {"shut"}),
        ('class Divergence(Struct):\n    kind: Literal["input", "stale-state"]', {"input", "stale-state"}),
    ],
)
def test_slugs_are_found_in_source_text(source, expected):
    assert slugs([source]) == expected

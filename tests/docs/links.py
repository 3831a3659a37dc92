"""The links of the Markdown pages. `python -m tests.docs.links` lists those that lead elsewhere, each with its pages."""

import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
BESIDE = (
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "CODE_OF_CONDUCT.md",
    "mutation/README.md",
)
"""The pages outside docs/ and incidents/; those that there are."""

_BLOCK = re.compile(r"^( *)(`{3,}|~{3,}).*?^\1\2`*$", re.DOTALL | re.MULTILINE)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_CODE = re.compile(r"`+[^`\n]*`+")
_INLINE = re.compile(r"\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
_REFERENCE = re.compile(r"^\[[^\]]+\]:\s*(\S+)", re.MULTILINE)
_HTML = re.compile(r"<(?:a|img|source)\b[^>]*?\b(?:href|src|srcset)=\"([^\"]+)\"", re.IGNORECASE)
_HEADING = re.compile(r"^#{1,6} +(.+?)(?: +#+)?$", re.MULTILINE)
_ANCHOR = re.compile(r"<a\b[^>]*?\b(?:id|name)=\"([^\"]+)\"", re.IGNORECASE)
_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)


class Link(NamedTuple):
    """A link: the page that has it, and what it leads to as the page writes it."""

    page: Path
    target: str

    @property
    def is_elsewhere(self) -> bool:
        """Whether it leads out of the repository."""
        return _ELSEWHERE.match(self.target) is not None


def pages() -> list[Path]:
    """Return all pages whose links are checked."""
    beside = [ROOT / name for name in BESIDE]
    return [
        *(page for page in beside if page.is_file()),
        *sorted((ROOT / "incidents").glob("*.md")),
        *sorted(DOCS.rglob("*.md")),
    ]


def links_of(page: Path) -> list[Link]:
    """Return the links of a page. What stands in code or in a comment is none."""
    text = _COMMENT.sub("", _BLOCK.sub("", page.read_text("utf-8")))
    # Brackets in code would end a link too early, so its characters are replaced.
    text = _CODE.sub(lambda match: "x" * len(match[0]), text)
    targets = [*_INLINE.findall(text), *_REFERENCE.findall(text), *_HTML.findall(text)]
    return [Link(page, target) for target in dict.fromkeys(targets)]


@cache
def anchors_of(page: Path) -> frozenset[str]:
    """Return the anchors of a page: those that a forge makes of its headings, and those that it sets itself."""
    text = _BLOCK.sub("", page.read_text("utf-8"))
    anchors: list[str] = []
    for heading in _HEADING.findall(text):
        shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        anchor = re.sub(r"[^\w -]", "", shown).strip().lower().replace(" ", "-")
        count = sum(re.fullmatch(rf"{re.escape(anchor)}(-\d+)?", known) is not None for known in anchors)
        anchors.append(f"{anchor}-{count}" if count else anchor)
    return frozenset([*anchors, *_ANCHOR.findall(text)])


def problem_of(link: Link) -> str | None:
    """Return what is wrong with a link within the repository; None if it leads somewhere."""
    path, _, anchor = link.target.partition("#")
    target = (link.page.parent / path).resolve() if path else link.page
    shown = f"{link.page.relative_to(ROOT)}: {link.target}"
    if not target.exists():
        return f"{shown}: there is no such file"
    if not target.is_relative_to(ROOT):
        return f"{shown}: it leads out of the repository"
    if anchor and (target.suffix != ".md" or anchor not in anchors_of(target)):
        return f"{shown}: there is no such heading"
    return None


def elsewhere() -> Iterator[tuple[str, list[str]]]:
    """Yield each link that leads out of the repository, with the pages that have it."""
    found: dict[str, list[str]] = {}
    for page in pages():
        for link in links_of(page):
            if link.is_elsewhere:
                found.setdefault(link.target, []).append(str(page.relative_to(ROOT)))
    yield from sorted(found.items())


if __name__ == "__main__":
    for address, named in elsewhere():
        sys.stdout.write(f"{address}\n    {', '.join(named)}\n")

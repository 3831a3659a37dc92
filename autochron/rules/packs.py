"""The shipped packs. A pack is parsed when its library is imported; before that only its name and modules are read."""

# os.path, not pathlib: this runs at the start of every recorded program, and pathlib costs 3 ms there.

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType

import msgspec
from msgspec import Struct

from autochron._runtime.unpatched import os
from autochron.errors import RuleError
from autochron.model import Pack, Rules
from autochron.rules.digest import digest_text
from autochron.rules.nearest import hint
from autochron.rules.text import read_text

_HERE = os.path.dirname(os.path.abspath(__file__))


class PackText(Struct, frozen=True):
    """What is known of a pack before it is parsed."""

    name: str
    file: str
    modules: tuple[str, ...]
    digest: str


def pack_folder() -> str:
    """Return the folder of the packs: inside the installed package, or beside it in a checkout."""
    package = os.path.dirname(_HERE)
    shipped = os.path.join(package, "packs")
    return shipped if os.path.isdir(shipped) else os.path.join(os.path.dirname(package), "rules")


@lru_cache(maxsize=1)
def pack_texts() -> Mapping[str, PackText]:
    """Return every shipped pack by name, unparsed."""
    folder = pack_folder()
    try:
        names = sorted(name.removesuffix(".toml") for name in os.listdir(folder) if name.endswith(".toml"))
    except FileNotFoundError:
        names = []
    return MappingProxyType({name: _peek(name, os.path.join(folder, f"{name}.toml")) for name in names})


def pack_index() -> Mapping[str, tuple[str, ...]]:
    """Return the modules of every shipped pack by its name, without parsing TOML."""
    return {name: pack.modules for name, pack in pack_texts().items()}


def pack_digests(names: Iterable[str]) -> list[tuple[str, str]]:
    """Return (name, digest of its text) of each of these packs."""
    return [(name, pack_texts()[name].digest) for name in names]


@lru_cache(maxsize=64)
def load_pack(name: str, disable: tuple[str, ...] = ()) -> Pack:
    """Parse a pack, and leave out the rules whose ids are in `disable`.

    Raises:
        RuleError: there is no such pack.
    """
    texts = pack_texts()
    if name not in texts:
        raise RuleError(f"there is no pack `{name}`{hint(texts, name)}")
    from autochron.rules.packfile import read_pack  # lazy: with the first library that has a pack

    pack = read_pack(name, f"{name}.toml", read_text(texts[name].file, f"{name}.toml"))
    if not disable:
        return pack
    kept = tuple(rule for rule in pack.boundaries if rule.id not in disable)
    return msgspec.structs.replace(pack, boundaries=kept)


def named_variables(names: Iterable[str]) -> frozenset[str]:
    """Return those of these names that a shipped pack lists as environment variables or credentials of its library."""
    wanted = frozenset(names)
    variables: set[str] = set()
    for name, pack_text in pack_texts().items() if wanted else ():
        text = read_text(pack_text.file, f"{name}.toml")
        if any(f'"{variable}"' in text for variable in wanted):  # so that few packs are parsed
            pack = load_pack(name)
            variables |= wanted & {*pack.environment, *pack.credentials}
    return frozenset(variables)


def packs_of(module: str) -> list[str]:
    """Return the names of the shipped packs that a module's import adds to the rules."""
    return [
        name
        for name, modules in pack_index().items()
        if any(module == known or module.startswith(f"{known}.") for known in modules)
    ]


def observed_sites(sites: Iterable[str]) -> frozenset[str]:
    """Return those of these recorded sites that the shipped packs only observe.

    Args:
        sites: sites of definitions, as in a trace. Those of files are the project's, and no pack is for them.
    """
    observed = set()
    for site in sites:
        module, _, _ = site.partition(":")
        names = [] if module.endswith(".py") else packs_of(module)
        rules = [rule for name in names for rule in load_pack(name).boundaries if str(rule.selector) == site]
        if rules and all(rule.observe for rule in rules):
            observed.add(site)
    return frozenset(observed)


def with_imported(rules: Rules, module: str) -> Rules:
    """Return rules with the packs for an imported module; the same object if there are none to add."""
    if not rules.auto:
        return rules
    present = {pack.name for pack in rules.packs}
    imported = [load_pack(name, rules.disable) for name in packs_of(module) if name not in present]
    return msgspec.structs.replace(rules, packs=(*rules.packs, *imported)) if imported else rules


def _peek(name: str, file: str) -> PackText:
    """Read the facts about a pack that are needed before it is parsed: the one line `modules = ["openai"]`, and a digest."""
    text = read_text(file, f"{name}.toml")
    start = text.find("\nmodules =")
    if start >= 0:
        value = text[start:].partition("=")[2].partition("\n")[0]
        return PackText(name, file, msgspec.json.decode(value, type=tuple[str, ...]), digest_text(text))
    raise RuleError(f"{name}.toml:1: the pack has no line `modules = [...]`")

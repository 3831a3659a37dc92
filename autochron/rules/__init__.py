"""Rules: what to weave, and how to name it. TOML is validated here into the frozen values of `model`."""

from autochron.rules.globs import DottedGlob, TextGlob, dotted_glob, text_glob
from autochron.rules.loading import load_rules
from autochron.rules.names import CallFacts, NameTemplate, NameTemplateError, name_template
from autochron.rules.nearest import nearest
from autochron.rules.packs import load_pack, pack_index, with_imported
from autochron.rules.paths import PathError, Step, find, parse_path

__all__ = [
    "CallFacts",
    "DottedGlob",
    "NameTemplate",
    "NameTemplateError",
    "PathError",
    "Step",
    "TextGlob",
    "dotted_glob",
    "find",
    "load_pack",
    "load_rules",
    "name_template",
    "nearest",
    "pack_index",
    "parse_path",
    "text_glob",
    "with_imported",
]

"""Matching: from rules and a module's code to the definitions to weave. Nothing is imported or run."""

from autochron.matching.definitions import Shape, definitions, shape_of
from autochron.matching.matcher import Absent, Found, Match, Matcher, TraceMatch, match_definitions
from autochron.rules.nearest import nearest

__all__ = [
    "Absent",
    "Found",
    "Match",
    "Matcher",
    "Shape",
    "TraceMatch",
    "definitions",
    "match_definitions",
    "nearest",
    "shape_of",
]

"""The rules of programs whose module `lib` is woven completely."""

RULES = """
version = 1
packs = []

[[boundary]]
name = "{__name__}"
kind = "tool"
define = "lib:**"
"""

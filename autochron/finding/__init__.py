"""Find tools that no rule names: their declarations, the definitions that may be them, and the calls that are under way."""

"""Rules: what to weave, and how to name it. TOML is validated here into the frozen values of `model`."""

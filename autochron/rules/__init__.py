"""Read rules from TOML and validate them. The results are the frozen values of `model`."""

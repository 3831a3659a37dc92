"""A file for each tool, with `SCHEMA` and `run`."""

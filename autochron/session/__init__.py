"""The one place where the stages are wired to each other."""

"""Matching: from rules and a module's code to the definitions to weave. Nothing is imported or run."""

"""Mutation of the tools that a cut-point test guards: what the test catches, and what one that serves everything does not."""

"""The pytest processes that run mutants in forks."""

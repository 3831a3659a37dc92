"""Run a program under autochron: record it, or replay it."""

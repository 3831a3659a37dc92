"""Check and explain rules: which functions they weave, and which ones are missing."""

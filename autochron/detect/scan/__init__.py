"""Find non-deterministic calls in source, without running it."""

"""Find the non-deterministic calls that no boundary holds: by watching a run, and by reading the source."""

"""Find out which non-deterministic calls matter, by replaying with other values."""

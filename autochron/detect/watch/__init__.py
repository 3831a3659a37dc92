"""Find non-deterministic calls while a program runs."""

"""Whether a replay reproduces an incident: what is compared, and the verdict."""

"""Standard streams of a program: captured at their descriptors, and relayed."""

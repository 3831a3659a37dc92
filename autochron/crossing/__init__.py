"""The kernel: bind, name, order and nest crossings; the only hot path."""

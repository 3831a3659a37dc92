"""HTTP exchanges as data."""

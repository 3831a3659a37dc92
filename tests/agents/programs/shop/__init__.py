"""A shop as a package."""

"""A garage's assistant, as a package."""

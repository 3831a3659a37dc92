"""Differences between JSON values, crossings and traces."""

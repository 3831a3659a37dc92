"""Incidents: whether what went wrong when a trace was recorded goes wrong again, and on what evidence that is said."""

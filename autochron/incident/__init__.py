"""Incidents: `incident new` makes a folder with a trace and a test, and tries the test."""

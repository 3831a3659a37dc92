"""Replay: find each crossing's record, serve it, and tell where replay and record disagree."""

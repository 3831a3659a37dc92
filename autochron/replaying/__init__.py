"""Replay: find the record of each crossing, serve it, and note where replay and record differ."""

"""Isolation of a replay: access to the network, files, processes and signals is watched and refused."""

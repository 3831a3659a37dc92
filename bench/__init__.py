"""The benchmarks: `python -m bench` runs them all, `python -m bench NAME ...` some.

Each figure is a difference or a ratio against a baseline or a peer that ran in the same process turn about, the median of
many rounds, beside the target that it is held to.
"""

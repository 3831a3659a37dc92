"""The verdict on an incident: whether a replay reproduces it, and the baseline that the replay is compared with."""

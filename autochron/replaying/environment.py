"""The environment variables by which a process tells another one how to replay."""

REPORT = "AUTOCHRON_REPLAY_REPORT"
"""Names the file into which a replay that another process has started writes what became of it."""

PLAN = "AUTOCHRON_REPLAY_PLAN"
"""Names the file with the plan of such a replay."""

SCRATCH = "AUTOCHRON_REPLAY_SCRATCH"
"""Names the scratch folder of such a replay, which the process that started it removes."""

PLACES = "AUTOCHRON_REPLAY_SNAPSHOTS"
"""Names the folders in which such a replay finds the contents of snapshots."""

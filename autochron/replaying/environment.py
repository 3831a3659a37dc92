"""Environment variables for a replay that another process starts."""

REPORT = "AUTOCHRON_REPLAY_REPORT"
"""The file into which such a replay writes its report."""

PLAN = "AUTOCHRON_REPLAY_PLAN"
"""The file with the plan of such a replay."""

SCRATCH = "AUTOCHRON_REPLAY_SCRATCH"
"""The scratch folder of such a replay. The process that started the replay removes it."""

PLACES = "AUTOCHRON_REPLAY_SNAPSHOTS"
"""The folders in which such a replay finds the contents of snapshots."""

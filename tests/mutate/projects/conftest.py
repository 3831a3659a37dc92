"""Programs of strangers: their tests run in copies, by tests/mutate/test_projects.py."""

collect_ignore_glob = ["*"]

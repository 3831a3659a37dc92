"""Code that is marked for agent-chronicle becomes unmarked code and rules, and its fixtures become traces."""

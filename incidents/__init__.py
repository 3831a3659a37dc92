"""The incident suite: agents that fail, each with what its provider says, its trace and a cut-point test."""

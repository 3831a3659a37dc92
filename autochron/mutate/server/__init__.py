"""The pytest process that runs mutants in forks."""

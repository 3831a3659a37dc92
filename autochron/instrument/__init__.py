"""Apply rules to the modules of a program as they are imported."""

"""Access to the interpreter that the program can't interfere with."""

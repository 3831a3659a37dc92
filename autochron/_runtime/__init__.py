"""What autochron needs of the interpreter, whatever the program does to it."""

"""Effects of a program on files and databases: snapshots of a recording, scratch copies and changes of a replay."""

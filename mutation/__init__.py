"""The mutation study of the twelve incidents."""

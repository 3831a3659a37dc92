"""Worker processes: how they are forked or started, limited, silenced, asked and ended."""

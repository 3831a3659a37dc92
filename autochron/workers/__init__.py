"""Processes that work for us: how they are forked or started, limited, silenced, asked and ended."""

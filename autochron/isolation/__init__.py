"""Keep a replay from the network, from files and from processes."""

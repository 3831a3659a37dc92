"""Record, serve and make up the values of clocks, random generators and UUIDs."""

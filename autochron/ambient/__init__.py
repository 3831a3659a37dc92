"""Values of clocks, random generators and UUIDs: recorded, served, and made up where none was recorded."""

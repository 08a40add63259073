"""Jobs: their tables, creation, reading and claims."""

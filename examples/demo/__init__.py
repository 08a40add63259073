"""The demonstration: one node, one SQLite file, and what goes wrong on purpose. Run it with `make demo`."""

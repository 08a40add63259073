"""The demonstration: one node, one SQLite file, and some deliberate failures. Run it with `make demo`."""

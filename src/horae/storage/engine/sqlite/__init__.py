"""A SQLite file: how it is opened and locked, who may read it, whether it is still there."""

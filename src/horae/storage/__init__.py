"""All SQL statements, each run by a plain function of a `Connection`."""

"""Every SQL statement, each a plain function of a Connection."""

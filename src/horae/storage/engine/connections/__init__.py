"""Connections to the database: pools, time limits, stale ones, poolers, and commit guards."""

"""Runs one job body: calls it, watches it, stops it, and derives its result."""

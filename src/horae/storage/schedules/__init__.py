"""Schedules: their tables, runs, ticks and deployments; one at a time, and in bulk."""

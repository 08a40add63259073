"""Calls the hooks of job types: when one is due, on which thread, and what happens if it fails."""

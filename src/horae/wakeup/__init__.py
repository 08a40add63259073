"""Hints that there is work, or that something ended."""

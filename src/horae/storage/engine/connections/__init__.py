"""Connections: their pool, time limits and stale ones, a pooler in front of PostgreSQL, commits of
bodies.
"""

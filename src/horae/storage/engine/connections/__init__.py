"""Connections to PostgreSQL: their pool, their time limits, a pooler in front of the server."""

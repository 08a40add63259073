"""Limits by key, limits of queues and fair queues: the lanes in which jobs wait, and their
claims.
"""

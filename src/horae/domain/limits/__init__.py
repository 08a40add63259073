"""Limits by key: how many jobs may start in a period, or run at a time, and which of the waiting
ones come next.
"""

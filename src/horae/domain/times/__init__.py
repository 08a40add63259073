"""Intervals, grids of points in time, and time zones."""

"""What callers do with jobs."""

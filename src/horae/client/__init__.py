"""What callers do with jobs, for functions and for coroutines."""

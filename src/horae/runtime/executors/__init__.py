"""The places where bodies run: the event loop, threads, child processes."""

"""Sends messages about the jobs that backends run, and checks the backends at a node's start."""

"""Queues: what operators and code set of them, what runs their jobs, and how much work waits in
them.
"""

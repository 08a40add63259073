"""How jobs and the runs of schedules end: settled by a node, cancelled, timed out, crashed or
deleted.
"""

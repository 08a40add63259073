"""The rules of a schedule: what is decided about each nominal time, how a run ends, and when the
next one starts.
"""

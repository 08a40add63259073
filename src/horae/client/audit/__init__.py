"""The checks of `horae audit`: each recomputes an invariant from the tables, and names the rows
that break it.

Not to be confused with the audit log (`horae changes`), which records who changed what.
"""

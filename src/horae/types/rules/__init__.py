"""The rules of a job type and of one start: limits, uniqueness, options; and the check of a
declaration.
"""

"""The rules of jobs and schedules as pure functions: no I/O, no clock; a random generator is an
argument.
"""

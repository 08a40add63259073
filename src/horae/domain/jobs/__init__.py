"""The rules of a job: its states, limits, owner and progress."""

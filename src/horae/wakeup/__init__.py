"""Hints between processes: there is work, a job has ended, a job is to stop."""

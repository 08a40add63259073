"""The rules of a schedule: what becomes of a nominal time, of a run, and when the next one starts."""

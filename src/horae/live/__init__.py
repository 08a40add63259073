"""A running job's live state and cancel requests."""

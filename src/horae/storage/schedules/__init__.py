"""Schedules: their tables, deployments and ledger, how they fire one by one and in bulk."""

"""What callers do with schedules and deployments."""

"""The rules among nodes: when one counts as dead, and who looks after which schedules."""

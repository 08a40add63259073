"""The rules among nodes: when a node counts as dead, and which nodes look after which schedules."""

"""Whether a node is alive, what it had begun, and what becomes of the jobs of a dead one."""

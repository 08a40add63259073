"""A node: one incarnation of a process, its services, and what others see of it."""

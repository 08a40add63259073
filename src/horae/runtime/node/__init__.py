"""A node: one incarnation of a process, its services, and how it is known to others."""

"""Server-sent events: one thread of a process polls the database for all clients."""

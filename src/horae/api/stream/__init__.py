"""Server-sent events: one watcher of the database a process, however many listen."""

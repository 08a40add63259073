"""SQLite files: how they are opened, locked and protected, and how their removal is noticed."""

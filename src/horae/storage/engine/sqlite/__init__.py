"""SQLite files: how they are opened, locked and protected, and whether they were moved or
deleted.
"""

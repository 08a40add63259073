"""The history of the tables, packaged with the library: no `alembic.ini`, nothing to copy into the application.

What holds: revisions form one line, numbered 0001, 0002 and so on. A script that was released never changes and imports
no table definitions, because those describe the newest schema only. A whole upgrade is one transaction under one lock,
so it happens completely or not at all, and of two processes that migrate at once the second finds nothing to do.
Horae's own version table keeps it apart from an Alembic that the application runs on the same database.
"""

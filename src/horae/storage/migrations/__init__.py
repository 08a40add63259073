"""The migrations of the tables, packaged with the library: no `alembic.ini`, nothing to copy into
the application.

Revisions form one line, numbered 0001, 0002 and so on. A released script never changes, and imports
no table definitions, because those describe only the newest schema. A whole upgrade is one
transaction under one lock, so it is applied completely or not at all; of two processes that migrate
at once, the second finds nothing to do. Horae has its own version table, so an application may use
Alembic on the same database.
"""

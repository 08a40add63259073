"""The HTTP interface: an ASGI application that can be served by a node or mounted in another one.

An endpoint reads, calls and renders. Errors become responses in one table (`problems.py`); who may
do what is decided by `security/actor.py`; nothing here speaks SQL.
"""

"""Who may do what over HTTP: authentication, sessions, one-time links, roles and origins.

Invariants: closed by default; what is not proven is a stranger; tokens and sessions are stored as
hashes and expire; another owner's job looks missing.
"""

"""The connections to Redis that live state and hints share.

Invariant: a Redis that is slow or gone costs each caller one bounded attempt, and no error.

Nothing is imported here, because the settings check URLs without the client library of Redis.
"""

"""The connections to Redis that live state and hints share.

Invariant: a Redis that is slow or gone costs each caller one bounded attempt, and no error.
"""

from horae.redis_access.access import UNUSABLE, RedisAccess, reason
from horae.redis_access.subscription import Subscription

__all__ = ["UNUSABLE", "RedisAccess", "Subscription", "reason"]

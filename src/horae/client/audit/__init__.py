"""`horae audit`: recomputes from the tables what must always hold, and reports what contradicts it.

Invariant: it reads only, in one consistent snapshot; what it cannot judge it calls unknown.
"""

from horae.client.audit.finding import AuditFinding, AuditReport

__all__ = ["AuditFinding", "AuditReport"]

"""What operators inspect and change: nodes, the audit log, figures, and the queries of `horae
doctor`.
"""

"""Endpoints for operators: queues, nodes, the overview, the audit log, metrics and health
checks.
"""

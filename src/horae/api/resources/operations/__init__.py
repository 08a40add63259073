"""Endpoints for operators: queues, limits, nodes, overview, history, errors, audit and health."""

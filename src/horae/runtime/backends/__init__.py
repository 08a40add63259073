"""Jobs that another system runs, such as Celery: messages about them, and the claims of its
workers.
"""

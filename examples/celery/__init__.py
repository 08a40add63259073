"""Jobs that run in the workers of a Celery application."""

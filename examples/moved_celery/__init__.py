"""A Celery application before and after its move; the second was begun by `horae import celery`."""

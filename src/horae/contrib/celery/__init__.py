"""Jobs that Celery's workers run: `setup(celery_app, horae)` is all that an existing Celery
application adds.
"""

from horae.contrib.celery.setup import setup
from horae.contrib.celery.tasks import task_type

__all__ = ["setup", "task_type"]

"""A Celery application's tasks and `beat_schedule` as Horae code, for `horae import celery`.

Invariant: the code compiles and registers whatever the application contains; what has no
counterpart is a comment in it, never left out in silence.
"""

from horae.contrib.celery.moving.reading import read_application
from horae.contrib.celery.moving.writing import written

__all__ = ["read_application", "written"]

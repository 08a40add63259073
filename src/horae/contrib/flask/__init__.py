"""Horae in a Flask application: `FlaskHorae`, made like an extension and bound by `init_app`.

Invariants: a body runs in the context of the application, so that `current_app` and the session of
Flask-SQLAlchemy work there as in a view; the user of the API is who the application says in its own
request context.
"""

from importlib.util import find_spec

from horae.errors import ConfigurationError

if find_spec("flask") is None:
    raise ConfigurationError("Flask is not installed: pip install 'horae[flask]'")

from horae.contrib.flask.extension import FlaskHorae

__all__ = ["FlaskHorae"]

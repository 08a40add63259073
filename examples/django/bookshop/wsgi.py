"""The bookshop under WSGI, with the dashboard at /work/."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "bookshop.settings")

application = get_wsgi_application()

from horae.contrib.django import wsgi_with_horae  # noqa: E402 - Django is set up first

application = wsgi_with_horae(application, at="/work")

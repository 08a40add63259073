"""The bookshop under ASGI, with the dashboard at /work/."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "bookshop.settings")

application = get_asgi_application()

from horae.contrib.django import asgi_with_horae  # noqa: E402 - Django is set up first

application = asgi_with_horae(application, at="/work")

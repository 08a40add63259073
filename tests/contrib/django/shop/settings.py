"""The settings of the project; the database is that of the test, or of `SHOP_DATABASE`."""

import json
import os

SECRET_KEY = "not a secret"
USE_TZ = True
TIME_ZONE = "Asia/Kathmandu"
ROOT_URLCONF = "tests.contrib.django.shop.urls"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.sessions",
    "horae.contrib.django",
    "tests.contrib.django.shop",
]
DATABASES = {
    "default": json.loads(os.environ.get("SHOP_DATABASE", "null"))
    or {"ENGINE": "django.db.backends.sqlite3", "NAME": "shop-that-no-test-uses.sqlite3"},
    "elsewhere": {"ENGINE": "django.db.backends.sqlite3", "NAME": "elsewhere.sqlite3"},
}
HORAE = {"module": "shop"}

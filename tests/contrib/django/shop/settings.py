"""The settings of the project; the database is that of the test, or of `SHOP_DATABASE`."""

import json
import os
from tempfile import gettempdir

import django

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
if django.VERSION < (6,):  # newer ones have tasks themselves
    INSTALLED_APPS.append("django_tasks")
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
STATIC_URL = "static/"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # quick
ALLOWED_HOSTS = ["testserver", "localhost"]
DATABASES = {
    "default": json.loads(os.environ.get("SHOP_DATABASE", "null"))
    or {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": f"{gettempdir()}/shop-that-no-test-uses.sqlite3",
    },
    "elsewhere": {"ENGINE": "django.db.backends.sqlite3", "NAME": "elsewhere.sqlite3"},
}
HORAE = {"module": "shop"}
TASKS = {"default": {"BACKEND": "horae.contrib.django.tasks.HoraeBackend"}}

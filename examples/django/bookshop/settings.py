"""The settings of the bookshop; the last lines are Horae's."""

import os
from pathlib import Path

import django

BASE_DIR = Path(__file__).resolve().parent.parent

SECRET_KEY = os.environ.get("SECRET_KEY", "only for the demonstration")
DEBUG = True
ALLOWED_HOSTS = ["localhost", "127.0.0.1"]
ROOT_URLCONF = "bookshop.urls"
WSGI_APPLICATION = "bookshop.wsgi.application"
USE_TZ = True
STATIC_URL = "static/"
LOGIN_URL = "/admin/login/"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "orders",
]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
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
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": BASE_DIR / "bookshop.db"}}
if "BOOKSHOP_SERVER" in os.environ:  # such as localhost:5432
    host, _, port = os.environ["BOOKSHOP_SERVER"].partition(":")
    DATABASES["default"] = {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": "bookshop",
        "USER": os.environ.get("BOOKSHOP_USER", "postgres"),
        "HOST": host,
        "PORT": port,
    }

# Horae
INSTALLED_APPS += ["horae.contrib.django"]
HORAE = {"keep": "7d"}
TASKS = {"default": {"BACKEND": "horae.contrib.django.tasks.HoraeBackend"}}
if django.VERSION < (6,):
    INSTALLED_APPS += ["django_tasks"]

"""The app of the shop."""

from django.apps import AppConfig


class ShopConfig(AppConfig):
    """The shop."""

    name = "tests.contrib.django.shop"
    label = "shop"

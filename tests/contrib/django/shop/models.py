"""The tables of the shop."""

from django.db import models


class Order(models.Model):
    """An order, and the job that has shipped it."""

    number: "models.IntegerField[int, int]" = models.IntegerField(unique=True)
    shipped_by: "models.BigIntegerField[int | None, int | None]" = models.BigIntegerField(null=True)

    class Meta:
        app_label = "shop"

    def __str__(self) -> str:
        """Return the number."""
        return str(self.number)

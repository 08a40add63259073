"""Books and their orders."""

from django.conf import settings
from django.db import models


class Book(models.Model):
    """A book, and how many of it are in stock."""

    title = models.CharField(max_length=200)
    stock = models.PositiveIntegerField(default=0)

    def __str__(self) -> str:
        """Return the title."""
        return self.title


class Order(models.Model):
    """An order of one book."""

    book = models.ForeignKey(Book, models.PROTECT)
    customer = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT)
    shipped = models.BooleanField(default=False)
    ordered_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        """Return the book and its customer."""
        return f"{self.book} for {self.customer}"

"""The background work of the bookshop."""

from datetime import timedelta

from django.db.models import F
from django.utils import timezone

from horae.contrib.django import horae
from orders.models import Book, Order
from orders.tasks import send_confirmation


@horae.job(transaction="django", max_attempts=3)
def ship(order: int) -> str:
    """Take a book from the stock and mark the order as shipped: both, once, or nothing."""
    found = Order.objects.get(pk=order)
    Book.objects.filter(pk=found.book_id).update(stock=F("stock") - 1)
    Order.objects.filter(pk=order).update(shipped=True)
    send_confirmation.enqueue(order)
    return str(found)


@horae.cron("0 3 * * *")
def forget_old_orders() -> None:
    """Delete orders that were shipped more than a year ago."""
    before = timezone.now() - timedelta(days=365)
    Order.objects.filter(shipped=True, ordered_at__lt=before).delete()

"""Tasks of Django, which run as jobs of Horae."""

from django.core.mail import send_mail
from django_tasks import task

from orders.models import Order


@task()
def send_confirmation(order: int) -> None:
    """Tell the customer that the book is on its way."""
    found = Order.objects.select_related("book", "customer").get(pk=order)
    send_mail(f"{found.book} is on its way", "", None, [found.customer.email])

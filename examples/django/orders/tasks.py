"""Tasks of Django, which run as jobs of Horae."""

from django.core.mail import send_mail

from orders.models import Order

try:
    from django.tasks import task
except ImportError:  # before Django 6 tasks are in a package
    from django_tasks import task


@task()
def send_confirmation(order: int) -> None:
    """Tell the customer that the book is on its way."""
    found = Order.objects.select_related("book", "customer").get(pk=order)
    send_mail(f"{found.book} is on its way", "", None, [found.customer.email])

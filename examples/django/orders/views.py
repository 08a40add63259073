"""The page on which books are ordered."""

from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from horae.contrib.django import horae, owner_of
from orders.jobs import ship
from orders.models import Book, Order


@login_required
def shop(request: HttpRequest) -> HttpResponse:
    """Show the books and the customer's orders, and take another order."""
    if request.method == "POST":
        with transaction.atomic():
            book = get_object_or_404(Book, pk=request.POST["book"])
            order = Order.objects.create(book=book, customer=request.user)
            horae.jobs.start(ship, order=order.pk, owner=owner_of(request.user))
        return redirect("/")
    orders = Order.objects.filter(customer=request.user).select_related("book")
    shown = {"books": Book.objects.all(), "orders": orders}
    return render(request, "orders/shop.html", shown)

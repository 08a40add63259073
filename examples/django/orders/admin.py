"""Books and orders in the admin."""

from django.contrib import admin

from orders.models import Book, Order

admin.site.register([Book, Order])

"""The URLs of the bookshop."""

from django.contrib import admin
from django.urls import path
from orders import views

urlpatterns = [path("", views.shop), path("admin/", admin.site.urls)]

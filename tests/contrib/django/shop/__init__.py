"""A small Django project, on whose database the tests of `horae.contrib.django` run."""

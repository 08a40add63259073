"""Orders in a Flask application with a factory, whose shipping and mails are jobs of Horae."""

"""Orders in a FastAPI application, whose mails and reports are jobs of Horae."""

"""What a Push and a Pull say of messages: when they go, and what becomes of them."""

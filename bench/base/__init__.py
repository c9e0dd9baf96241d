"""What every room of the bench may need, and what needs none of them."""

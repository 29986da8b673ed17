"""Running sums and products along rows."""

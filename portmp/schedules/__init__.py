"""Which schedule a call takes: what every schedule is, and the database of measured ones."""

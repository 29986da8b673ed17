"""The search for schedules that suit a device, and what it may choose from."""

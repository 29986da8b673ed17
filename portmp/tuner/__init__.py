"""What makes calls fast beforehand: the search for schedules, and compiling ahead."""

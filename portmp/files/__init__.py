"""Files of numbers and pictures: read whole and checked, written in one step."""

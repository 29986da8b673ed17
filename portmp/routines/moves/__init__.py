"""Elements moved, bit by bit: copies, choices, gathering and scattering by offsets."""

"""``portmp bench``: rates, shares of the floor and errors of portmp on a device, as data."""

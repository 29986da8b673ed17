"""The host reference as a device: for machines on which no driver works."""

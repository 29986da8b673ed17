"""Elementary functions of arrays: exp, sin, atan2 ..."""

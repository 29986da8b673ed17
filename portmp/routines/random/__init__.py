"""Random numbers by a counter: words of Philox, uniform and normal values, integers."""

"""From a kernel's description to source text: dialects, networks as functions, templates."""

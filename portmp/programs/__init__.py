"""Programs without portmp that run its routines and check their own bits."""

"""``portmp report``: a page of measured results, one file that needs no other."""

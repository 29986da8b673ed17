"""``portmp report``: a page of measured results, one file that needs no other.

``subjects`` sorts reports by device, ``checks`` says which are to be believed, ``figures`` draws
(``drawing``: matplotlib's SVG made to follow the page's colours), ``papers`` sets ratios beside
those of papers, ``sources`` shows kernels in three dialects, ``page`` puts all together;
``comparison`` is of two files.
"""

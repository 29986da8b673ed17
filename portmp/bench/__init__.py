"""``portmp bench``: rates, shares of the floor and errors of portmp on a device, as data.

``blas`` says what is measured, ``floors`` what bounds it, ``values`` makes the
inputs, ``exact`` the errors, ``measure`` the times, ``energy`` the joules, ``peers`` the
competitors, ``runner`` one device's run; ``report``, ``schema``, ``compare`` and ``plot`` deal with
the results. ``nbody`` and the modules named after it repeat a paper's experiments on gravity.
"""

"""``portmp bench``: rates, shares of the floor and errors of portmp on a device, as data.

An experiment declares its cases, columns, tables and pictures (``experiment``), and one runner does
the rest. A family of experiments is a command: ``blas`` (with ``cases`` and ``runner``),
``gemm_methods``, ``everyday`` and the folders of ``papers``, which repeat those of a paper.
``measure`` makes times, ``energy`` joules, ``values`` inputs, ``exact`` errors, ``roofline`` what
bounds a case; ``peers`` are libraries to compare with; ``compare`` reads reports.
"""

"""Intervals, tests and power: values in, values out.

    results        what comes back: an estimate with its limits, a rate, a test, or why there is none
    decimals       exact numbers to the 12-place decimals that rules and records see
    scale          measures to integers on a common denominator
    proportion     Wilson, Clopper-Pearson
    paired         yes or no in two arms: McNemar exact and mid-p, Tango, Newcombe 10, noninferiority, equivalence
    exact_paired   the exact unconditional interval of a paired difference
    units, design  what is resampled, in which order, and the effect computed from it
    parts          designs whose effect is a weighted sum of ratios
    bootstrap      percentile bootstrap with a seed: pairs, clusters, strata, ratios
    lattice        exact laws of sums of independent integers
    law            the law that every seed of the bootstrap draws from, and its interval, without a seed
    seeds          how many seeds put a limit on which side of a value
    signflip       the sign-flip permutation test, exact
    multiplicity   Holm, Benjamini-Hochberg, serial gatekeeping
    power          the chance of each verdict of a paired binary design, exact
    special        the only importer of scipy

Data are `int`, `Fraction` or `Decimal`, never `float`: a third has no float, and sums of floats leave dust
around 0. What cannot be estimated comes back as `NotEstimable`; a question that cannot be meant (a level of 2,
more discordant pairs than pairs) raises `UsageError`.
"""

"""From verdicts and measures to rulings: pure, every value comes in as an argument.

admit       the ruling on every slot                    flow        from slots to outcomes, arm by arm
measures    what a judge may give                       cells       what is known of every slot, in columns
standins    what stands in for a missing outcome        outcomes    the value of every cell, repetitions combined
sample      rows and pairs, joined on the key           shapes      rows as counts, differences, designs
difference  the difference of two effects               intervals   which statistic a method names
estimate    one effect on one metric                    effects     all of them, p-values corrected
verdicts    the plan's rules                            robustness  other seeds, the exact law, Tango
reported    what no rule reads                          analysis    the record of it all
claims      what may be said                            gates       what may be published
power       the chance of each verdict beforehand       stats       intervals, tests and laws
"""

"""Before an experiment: simulate it from its prior to see what to expect.

`plan` runs the simulation and `result` is what it returns, with its text. `columns` describes every
table, `comparators` has the policies and the wrong priors, `identification` follows P(best),
`rounds_until` searches for a number of rounds, `forgetting` compares half-lives, and `recorded`
does it all on recorded rewards. `context` asks whether context is worth it.
"""

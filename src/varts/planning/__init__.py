"""Before an experiment: simulate it from its prior to see what to expect.

`plan` runs the simulation, `comparators` has the policies it compares, `identification` follows
P(best), `rounds_until` searches for a number of rounds, `recorded` does it all on recorded
rewards; `tables`, `notes` and `text` show it all. `context` asks whether context is worth it.
"""

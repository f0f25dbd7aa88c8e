"""The compiled simulation engine; only `study.simulate` calls it."""

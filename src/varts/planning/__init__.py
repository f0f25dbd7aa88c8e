"""Before an experiment: simulate it from its prior and say what to expect."""

"""The compiled simulation engine behind `study.simulate`."""

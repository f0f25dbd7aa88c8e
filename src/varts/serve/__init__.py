"""The HTTP service of live experiments: `varts serve`."""

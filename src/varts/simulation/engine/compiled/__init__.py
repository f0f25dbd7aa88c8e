"""Functions that are compiled into kernels."""

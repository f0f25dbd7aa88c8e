"""The paper's experiments, figures and claims: `reproduce` makes them all."""

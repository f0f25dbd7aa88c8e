"""The paper's experiments, figures and claims: `reproduce` produces all of them."""

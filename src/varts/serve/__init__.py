"""The pages of a service over HTTP, and the charts on them."""

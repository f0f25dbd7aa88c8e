"""The JSON API: one handler per endpoint of the table in `varts.serve.routes`."""

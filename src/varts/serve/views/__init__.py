"""The pages over HTTP: what `varts.serve.pages` draws, with what it is drawn from.

`routes` is the table of all of them. `entrance` lets browsers in, `overview` has the list and the
pages of an experiment, `creation` makes one, `changes` changes it, `planning` plans, `files` has
style and script; `answers` has what they share, and shows what was refused.
"""

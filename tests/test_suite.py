"""A failing assert shows its operands, in the helpers of the tests as well."""

import ast
import importlib.util
import sys
from pathlib import Path

import pytest

from tests.live import corrections  # a helper with many asserts, which pytest does not collect


def with_plain_asserts(modules):
    """The names of modules with asserts that pytest has not loaded as it has loaded this one."""
    return [
        module.__name__
        for module in modules
        if type(module.__loader__) is not type(__loader__) and has_asserts(module)
    ]


def has_asserts(module):
    tree = ast.parse(Path(module.__file__).read_text("utf-8"))
    return any(isinstance(node, ast.Assert) for node in ast.walk(tree))


def test_asserts_are_rewritten_here():
    one = 1
    with pytest.raises(AssertionError, match="1 == 2"):  # a plain assert has no message
        assert one == 2


def test_asserts_are_rewritten_in_all_modules():
    """In all that this process has imported; when the whole suite runs, that is every one."""
    modules = [module for name, module in sys.modules.items() if name.startswith("tests.")]
    assert corrections in modules
    assert with_plain_asserts(modules) == []


def test_a_module_with_plain_asserts_is_found():
    spec = importlib.util.spec_from_file_location("plain", corrections.__file__)
    assert with_plain_asserts([importlib.util.module_from_spec(spec)]) == ["plain"]

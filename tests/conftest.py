"""What every suite in Python shares: where things are."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def root():
    """The project's top folder."""
    return ROOT


@pytest.fixture(scope="session")
def build():
    """Where everything that is made lies."""
    return ROOT / os.environ.get("BUILD", "build")


@pytest.fixture(scope="session")
def image(build):
    """The image of the stick, as users get it."""
    path = build / "ironchase.img"
    assert path.exists(), "run `make image` first"
    return path

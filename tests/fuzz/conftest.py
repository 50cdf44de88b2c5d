"""One service for all fuzzing of a module."""

from collections.abc import Iterator

import pytest

from tests.fuzz.service import Service, open_service


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with open_service(tmp_path_factory.mktemp("fuzz")) as opened:
        yield opened

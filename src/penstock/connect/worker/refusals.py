"""Refusals with Kafka Connect's codes and words."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.web.errors import HttpError


def not_found(message: str) -> HttpError:
    return HttpError(404, message)


def bad_request(message: str) -> HttpError:
    return HttpError(400, message)


def wrapped_bad_request(message: str) -> HttpError:
    """Kafka answers 500 where a refusal comes out of one of its threads."""
    return HttpError(500, f"org.apache.kafka.connect.runtime.rest.errors.BadRequestException: {message}")


def conflict(message: str) -> HttpError:
    return HttpError(409, message)


def failed(message: str) -> HttpError:
    return HttpError(500, message)


def invalid_config(errors: Sequence[str]) -> HttpError:
    lines = "\n".join(errors)
    return bad_request(
        f"Connector configuration is invalid and contains the following {len(errors)} error(s):\n{lines}\n"
        "You can also find the above list of errors at the endpoint "
        "`/connector-plugins/{connectorType}/config/validate`"
    )

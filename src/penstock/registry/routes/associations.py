"""Associations of topics with subjects."""

from __future__ import annotations

from typing import Any

from penstock.registry.associations import (
    association_answer,
    decide_associate,
    decide_dissociate,
    of_name,
    of_resource,
    of_subject,
)
from penstock.registry.lookups import page
from penstock.registry.records import AssociationValue
from penstock.registry.requests import (
    AssociationAnswer,
    AssociationBatch,
    AssociationBatchAnswer,
    AssociationInfo,
    AssociationNew,
    AssociationOperation,
    AssociationOperations,
    AssociationRequest,
    AssociationResult,
    AssociationsAnswer,
    ErrorBody,
)
from penstock.registry.routes import access, problems
from penstock.registry.routes.subjects import LIMIT, OFFSET
from penstock.registry.service import Registry
from penstock.web import Call, HttpError, Query, Route

TYPE = Query("resourceType", str, "", "The type of the resource: `topic`.")
KIND = Query("associationType", str, "", "`key` or `value`. May be repeated.")
LIFECYCLE = Query("lifecycle", str, "", "`STRONG` or `WEAK`.")
CONTEXT = Query("context", str, "", "The context of subjects that name none.")
DRY_RUN = Query("dryRun", bool, False, "Answer only; change nothing.")
CASCADE = Query("cascadeLifecycle", bool, False, "Delete the subjects that belong to the resource, too.")


def routes(registry: Registry) -> tuple[Route, ...]:
    api = _Associations(registry)
    filters = (TYPE, KIND, LIFECYCLE, OFFSET, LIMIT)
    one, several = "/associations/resources/{resource_id}", list[AssociationAnswer]
    refused = (
        problems.ASSOCIATION_EXISTS,
        problems.INVALID_ASSOCIATION,
        problems.INVALID_SUBJECT,
        problems.INVALID_SCHEMA,
        problems.NOT_PERMITTED,
    )
    gone = (problems.NO_ASSOCIATION, problems.ASSOCIATION_FROZEN, problems.NOT_PERMITTED, problems.REFERENCED)
    return (
        Route("POST", "/associations", api.create, "Gives a topic its subjects.",
              access=access.CHANGE_GLOBAL_RULES, body=AssociationRequest, returns=AssociationsAnswer,
              query=(CONTEXT, DRY_RUN), problems=refused),
        Route("POST", "/associations:batch", api.batch, "Several changes; each is answered in its place.",
              access=access.CHANGE_GLOBAL_RULES, body=AssociationBatch, returns=AssociationBatchAnswer,
              status=207, query=(CONTEXT, DRY_RUN)),
        Route("GET", one, api.of_resource, "The subjects of a topic, by its id.",
              access=access.LISTED, returns=several, query=filters),
        Route("PUT", one, api.update, "Gives a topic its subjects, or changes them.",
              access=access.CHANGE_GLOBAL_RULES, body=AssociationRequest, returns=AssociationsAnswer,
              query=(CONTEXT, DRY_RUN), problems=refused),
        Route("DELETE", one, api.delete, "Takes subjects from a topic.",
              access=access.CHANGE_GLOBAL_RULES, status=204, query=(TYPE, KIND, CASCADE, DRY_RUN),
              problems=gone),
        Route("GET", "/associations/resources/{resource_namespace}/{resource_name}", api.of_name,
              "The subjects of a topic, by its cluster and name; `-` is any cluster.",
              access=access.LISTED, returns=several, query=filters),
        Route("GET", "/associations/subjects/{subject}", api.of_subject, "The topics of a subject.",
              access=access.READ, returns=several, query=filters),
    )  # fmt: skip


class _Associations:
    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    async def create(self, call: Call) -> Any:
        return await self._associate(call, call.body, update=False)

    async def update(self, call: Call) -> Any:
        request: AssociationRequest = call.body
        request.resource_id = request.resource_id or call.path["resource_id"]
        if request.resource_id != call.path["resource_id"]:
            raise HttpError(422, "The body names another resource than the path.", 42212)
        return await self._associate(call, request, update=True)

    async def batch(self, call: Call) -> Any:
        body: AssociationBatch = call.body
        return AssociationBatchAnswer([await self._operate(call, each) for each in body.requests])

    async def delete(self, call: Call) -> None:
        kinds = [kind for kind in call.request.query_params.getlist("associationType") if kind]
        cascade, dry_run = call.flag("cascadeLifecycle"), call.flag("dryRun")
        await self._registry.change(
            lambda s: decide_dissociate(
                s,
                call.path["resource_id"],
                kinds,
                resource_type=call.text("resourceType"),
                cascade=cascade,
                dry_run=dry_run,
            )
        )

    async def of_resource(self, call: Call) -> Any:
        return await self._told(call, self._registry.ask(lambda s: of_resource(s, call.path["resource_id"])))

    async def of_name(self, call: Call) -> Any:
        namespace, name = call.path["resource_namespace"], call.path["resource_name"]
        return await self._told(call, self._registry.ask(lambda s: of_name(s, namespace, name)))

    async def of_subject(self, call: Call) -> Any:
        return _told(call, self._registry.ask(lambda s: of_subject(s, call.path["subject"])))

    async def _told(self, call: Call, found: Any) -> Any:
        visible = await self._registry.rights.visible(call.caller, names_only=True)
        return _told(call, [each for each in found if visible(each.subject)])

    async def _associate(self, call: Call, request: AssociationRequest, *, update: bool) -> Any:
        context, dry_run = call.text("context"), call.flag("dryRun")
        return await self._registry.change(
            lambda s: decide_associate(s, request, context=context, update=update, dry_run=dry_run)
        )

    async def _operate(self, call: Call, request: AssociationOperations) -> AssociationResult:
        """One request of a batch. Its operations are done one after the other, up to the first that fails."""
        done = AssociationsAnswer(
            request.resource_name, request.resource_namespace, request.resource_id, request.resource_type, []
        )
        try:
            for each in request.associations:
                done.associations += await self._operate_one(call, request, each)
        except HttpError as error:
            return AssociationResult(error=ErrorBody(error.error_code, error.message))
        return AssociationResult(result=done)

    async def _operate_one(
        self, call: Call, request: AssociationOperations, wanted: AssociationOperation
    ) -> list[AssociationInfo]:
        if wanted.op_type == "DELETE":
            kinds = [wanted.association_type] if wanted.association_type else []
            cascade, dry_run = bool(wanted.cascade_lifecycle), call.flag("dryRun")
            await self._registry.change(
                lambda s: decide_dissociate(s, request.resource_id, kinds, cascade=cascade, dry_run=dry_run)
            )
            return []
        if wanted.op_type not in ("CREATE", "UPSERT"):
            told = f"opType is {wanted.op_type[:40]!r}; use CREATE, UPSERT or DELETE."
            raise HttpError(422, told, 42212)
        given = {name: getattr(wanted, name) for name in AssociationNew.__struct_fields__}
        resource = {name: getattr(request, name) for name in AssociationRequest.__struct_fields__}
        one = AssociationRequest(**{**resource, "associations": [AssociationNew(**given)]})
        answer: AssociationsAnswer = await self._associate(call, one, update=wanted.op_type == "UPSERT")
        return answer.associations


def _told(call: Call, found: list[AssociationValue]) -> list[AssociationAnswer]:
    kinds = [kind for kind in call.request.query_params.getlist("associationType") if kind]
    wanted = [
        association_answer(each)
        for each in found
        if call.text("resourceType") in ("", each.resource_type)
        and call.text("lifecycle") in ("", each.lifecycle)
        and (not kinds or each.association_type in kinds)
    ]
    return page(wanted, call.number("offset"), call.number("limit"))

"""What a route of the registry needs, with the operations of Confluent's ACLs."""

from __future__ import annotations

from typing import Final

from penstock.security.access import OnSubject, Open, Refusal, SubjectOperation

ANYBODY: Final = Open("it names no subject and no schema")
LISTED: Final = OnSubject(SubjectOperation.GLOBAL_READ, Refusal.HIDDEN)
READ: Final = OnSubject(SubjectOperation.SUBJECT_READ)
WRITE: Final = OnSubject(SubjectOperation.SUBJECT_WRITE)
DELETE: Final = OnSubject(SubjectOperation.SUBJECT_DELETE)
CHECK: Final = OnSubject(SubjectOperation.SUBJECT_COMPATIBILITY_READ)
CHANGE_RULES: Final = OnSubject(SubjectOperation.SUBJECT_COMPATIBILITY_WRITE)
SEE_GLOBAL_RULES: Final = OnSubject(SubjectOperation.GLOBAL_COMPATIBILITY_READ)
CHANGE_GLOBAL_RULES: Final = OnSubject(SubjectOperation.GLOBAL_COMPATIBILITY_WRITE)

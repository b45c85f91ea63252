"""What can be wrong with an expression.

- `ExpressionError`: anything of the following.
  - `TypeMismatch`: the expression makes no sense, whatever the row. Raised when the tree is built.
  - `EvaluationFailed`: this row has no result. Raised while a row is computed.
"""

from __future__ import annotations


class ExpressionError(ValueError):
    """An expression that is wrong, or that has no result."""


class TypeMismatch(ExpressionError):
    """Operands of types that do not fit each other, or a function that is not there."""


class EvaluationFailed(ExpressionError):
    """A row for which the expression has no result, such as a division by zero."""

"""What the Props of constructs share: wrong values are refused, with field, value and limit, before anything is made.

Props are frozen pydantic dataclasses by keyword, with :data:`PROPS`: an unknown name, a value of another type and one
out of its limits raise a ``ValidationError`` (a ``ValueError``) that names the Props, the field, the value and the
limit. Nothing is converted silently, except that a list is taken for a tuple and text for a range or an address.

The types here are those of a profile's fields (:mod:`groundplan.kernel.fields`), and let a reference pass that
Terraform resolves, such as a resource's attribute: what it comes to is known too late to be checked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from pydantic import ConfigDict, Field, Strict, ValidatorFunctionWrapHandler, WrapValidator

from groundplan.kernel import fields

PROPS = ConfigDict(extra="forbid", strict=True)

#: A reference that Terraform resolves, or cdktf's own mark for one.
_REFERENCE = re.compile(r"\$\{|TfToken\[")


def _or_reference(value: Any, check: ValidatorFunctionWrapHandler) -> Any:
    return value if isinstance(value, str) and _REFERENCE.search(value) else check(value)


OR_REFERENCE = WrapValidator(_or_reference)

#: Text of at least one letter.
Text = Annotated[str, Field(min_length=1)]
ResourceName = Annotated[fields.ResourceName, OR_REFERENCE]
ClusterName = Annotated[fields.ClusterName, OR_REFERENCE]
KubernetesName = Annotated[fields.KubernetesName, OR_REFERENCE]
AccountId = Annotated[fields.ServiceAccountId, OR_REFERENCE]
Zone = Annotated[fields.Zone, OR_REFERENCE]
#: Name of a Helm release: at most 53 (helm.sh/helm/v3, chartutil.ValidateReleaseName).
ReleaseName = Annotated[
    str,
    fields.Matching(r"[a-z0-9](?:[-a-z0-9]{0,51}[a-z0-9])?", "1 to 53 lower-case letters, digits and hyphens"),
    OR_REFERENCE,
]
#: Labels of Google Cloud, and of Kubernetes.
Labels = Mapping[fields.LabelKey, Annotated[fields.LabelValue, OR_REFERENCE]]
KubernetesLabels = Mapping[fields.KubernetesLabelKey, Annotated[fields.KubernetesLabelValue, OR_REFERENCE]]

Item = TypeVar("Item")
#: A tuple, or a list, which becomes one.
Several = Annotated[tuple[Item, ...], Strict(False)]

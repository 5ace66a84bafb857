"""The field types that the sections of a profile are made of: strict, with messages in the user's terms.

Each type knows its limit in words, so that an error names the limit, and its JSON Schema pattern, so that editors
check it while typing. Sources of the limits stand beside each type.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue, WithJsonSchema
from pydantic_core import CoreSchema, PydanticCustomError, core_schema


class Section(BaseModel):
    """Base of every section of a profile: unknown keys and silent conversions are refused, nothing changes later.

    The docstring below a field is its documentation; groundplan.kernel.documentation reads it for those who need it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


@dataclass(frozen=True)
class Matching:
    """A string that matches `pattern` as a whole; `limit` says the same in words."""

    pattern: str
    limit: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._check, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        example = re.search(r"such as \"?([^\s\",]+)", self.limit)
        found = handler(schema) | {"pattern": f"^(?:{self.pattern})$"}
        return found | ({"examples": [example[1]]} if example else {})

    def _check(self, value: str) -> str:
        if not re.fullmatch(self.pattern, value):
            raise PydanticCustomError("limit", "{limit}", {"limit": f"must be {self.limit}"})
        return value


def _day(value: object) -> date:
    try:
        return date.fromisoformat(value) if isinstance(value, str) else date(0, 0, 0)
    except ValueError:
        raise PydanticCustomError("limit", "{limit}", {"limit": "must be a day such as 2027-02-01"}) from None


_NAME = r"[a-z](?:[-a-z0-9]{0,%d}[a-z0-9])?"
_NAME_WORDS = "1 to %d lower-case letters, digits and hyphens, starting with a letter and not ending in a hyphen"


def _name(longest: int) -> Matching:
    return Matching(_NAME % (longest - 2), _NAME_WORDS % longest)


#: A site's name: the root of every derived name, so it leaves room for their suffixes.
SiteName = Annotated[str, _name(20)]
#: Names of VPC networks, subnetworks, firewalls, addresses: RFC 1035, at most 63.
ResourceName = Annotated[str, _name(63)]
#: A prefix to which suffixes such as ``-sub-7`` or ``-internal`` are added.
NamePrefix = Annotated[str, _name(50)]
#: GKE clusters and node pools: at most 40.
ClusterName = Annotated[str, _name(40)]
#: A project id: 6 to 30 (a domain-scoped project carries ``domain.com:``).
ProjectId = Annotated[
    str,
    Matching(
        r"(?:[a-z][-a-z0-9.]*:)?[a-z][-a-z0-9]{4,28}[a-z0-9]",
        "a project id (6 to 30 lower-case letters, digits and hyphens, starting with a letter), not a number or a name",
    ),
]
Day = Annotated[date, BeforeValidator(_day)]
Zone = Annotated[str, Matching(r"[a-z]+-[a-z]+[0-9]+-(?:[a-z]|ai[0-9]+[a-z])", "a zone such as us-central1-b")]
Region = Annotated[str, Matching(r"[a-z]+-[a-z]+[0-9]+", "a region such as us-central1")]
#: Kubernetes object names: RFC 1123 label.
KubernetesName = Annotated[
    str,
    Matching(
        r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?",
        "a Kubernetes name: 1 to 63 lower-case letters, digits and hyphens, not starting or ending with a hyphen",
    ),
]
#: Service account ids: 6 to 30.
ServiceAccountId = Annotated[
    str,
    Matching(r"[a-z][-a-z0-9]{4,28}[a-z0-9]", "6 to 30 lower-case letters, digits and hyphens, starting with a letter"),
]
SecretKey = Annotated[str, Matching(r"[-._a-zA-Z0-9]{1,253}", "1 to 253 letters, digits, dots, hyphens, underscores")]
#: Google Cloud labels: keys start with a letter, keys and values at most 63.
LabelKey = Annotated[
    str,
    Matching(
        r"[a-z][-_a-z0-9]{0,62}", "a label key: 1 to 63 lower-case letters, digits, - and _, starting with a letter"
    ),
]
LabelValue = Annotated[
    str, Matching(r"[-_a-z0-9]{0,63}", "a label value: at most 63 lower-case letters, digits, - and _")
]
#: Kubernetes labels (node pool labels): an optional DNS prefix, a name of at most 63.
KubernetesLabelKey = Annotated[
    str,
    Matching(
        r"(?:(?=[^/]{1,253}/)[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?)*/)?"
        r"[A-Za-z0-9](?:[-._A-Za-z0-9]{0,61}[A-Za-z0-9])?",
        "a Kubernetes label key: an optional prefix (a domain name) and /, then 1 to 63 letters, digits, -, _ and .",
    ),
]
KubernetesLabelValue = Annotated[
    str,
    Matching(
        r"(?:[A-Za-z0-9](?:[-._A-Za-z0-9]{0,61}[A-Za-z0-9])?)?",
        "a Kubernetes label value: at most 63 letters, digits, -, _ and ., starting and ending with a letter or digit",
    ),
]
#: A container image reference, by tag or digest.
Image = Annotated[
    str,
    Matching(
        r"[a-z0-9][-._a-z0-9]*(?::[0-9]+)?(?:/[-._a-z0-9]+)*(?::[A-Za-z0-9_][-._A-Za-z0-9]{0,127})?(?:@sha256:[0-9a-f]{64})?",
        "an image reference such as nvcr.io/nvidia/nemo-rl:v0.7.0",
    ),
]
#: Kubernetes quantities as pod resources use them.
Quantity = Annotated[
    str, Matching(r"[0-9]+(?:\.[0-9]+)?(?:[EPTGMk]i?|Ki|m)?", "a Kubernetes quantity such as 240Gi or 500m")
]
#: RFC 3339 in UTC: other offsets and fractions show as a diff for ever (terraform-provider-google).
Timestamp = Annotated[
    str,
    Matching(
        r"20[0-9]{2}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z",
        "a time in UTC such as 2026-12-24T00:00:00Z",
    ),
]
#: An absolute folder in a pod.
MountPath = Annotated[str, Matching(r"(?:/[-._A-Za-z0-9]+)+", "an absolute path such as /data")]
BucketName = Annotated[
    str,
    Matching(
        r"(?!goog)(?!.*google)[a-z0-9][-_a-z0-9]{1,61}[a-z0-9]",
        "a bucket name: 3 to 63 lower-case letters, digits, - and _, without `google`",
    ),
]


def _quoted_version(value: Any) -> Any:
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise PydanticCustomError("limit", "{limit}", {"limit": "must be text: put the version in quotes"})
    return value


#: A GKE version: ``1.35``, ``1.35.2`` or whole, ``1.35.2-gke.1842000``.
GkeVersion = Annotated[
    str,
    Matching(r"1\.[0-9]{2}(?:\.[0-9]+(?:-gke\.[0-9]+)?)?", 'a GKE version such as "1.35" or "1.35.2-gke.1842000"'),
    BeforeValidator(_quoted_version),
]
#: A chart's or operator's release, without the leading v.
ReleaseVersion = Annotated[
    str,
    Matching(r"[0-9]+\.[0-9]+\.[0-9]+(?:-[0-9A-Za-z.]+)?", 'a release such as "1.7.0", without a leading v'),
    BeforeValidator(_quoted_version),
]
#: A tag that starts with v, as NeMo RL's and gIB's images carry.
TagVersion = Annotated[
    str,
    Matching(r"v[0-9]+\.[0-9]+\.[0-9]+(?:[-._][0-9A-Za-z.]+)?", "a release tag such as v0.7.0"),
]


def _network(value: Any) -> ipaddress.IPv4Network:
    if isinstance(value, ipaddress.IPv4Network):
        return value
    if not isinstance(value, str):
        raise PydanticCustomError("limit", "{limit}", {"limit": "must be a range such as 10.0.0.0/20, as text"})
    if "/" not in value:
        raise PydanticCustomError("limit", "{limit}", {"limit": "must be a range with its prefix, such as 10.0.0.0/20"})
    try:
        return ipaddress.IPv4Network(value)
    except ValueError as error:
        try:
            mended = ipaddress.IPv4Network(value, strict=False)
        except ValueError:
            limit = f"must be an IPv4 range such as 10.0.0.0/20 ({str(error).partition(' in ')[0]})"
            raise PydanticCustomError("limit", "{limit}", {"limit": limit}) from None
        limit = f"has host bits set; the range of that size is {mended}"
        raise PydanticCustomError("limit", "{limit}", {"limit": limit}) from None


def _address(value: Any) -> ipaddress.IPv4Address:
    if isinstance(value, ipaddress.IPv4Address):
        return value
    try:
        if isinstance(value, str):
            return ipaddress.IPv4Address(value)
    except ValueError:
        pass
    raise PydanticCustomError("limit", "{limit}", {"limit": "must be an IPv4 address such as 10.9.0.0"})


_RANGE_SCHEMA: JsonSchemaValue = {
    "type": "string",
    "pattern": r"^[0-9]{1,3}(?:\.[0-9]{1,3}){3}/[0-9]{1,2}$",
    "examples": ["10.0.0.0/20"],
}
#: An IPv4 range in CIDR notation without host bits.
Cidr = Annotated[
    ipaddress.IPv4Network,
    BeforeValidator(_network),
    Field(strict=False),
    WithJsonSchema(_RANGE_SCHEMA),
]
#: An IPv4 address.
Address = Annotated[
    ipaddress.IPv4Address,
    BeforeValidator(_address),
    Field(strict=False),
    WithJsonSchema({"type": "string", "format": "ipv4"}),
]

Count = Annotated[int, Field(ge=0, le=15000)]
PositiveCount = Annotated[int, Field(ge=1, le=15000)]
Labels = dict[LabelKey, LabelValue]

#: An environment variable's name.
VariableName = Annotated[
    str, Matching(r"[A-Za-z_][A-Za-z0-9_]*", "an environment variable's name: letters, digits and underscores")
]

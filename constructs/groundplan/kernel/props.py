"""What the Props of all constructs share: frozen, by keyword, unknown names and wrong values refused by name.

A Props class is a pydantic dataclass with this configuration: ``GpuNodePoolProps(acceleratr=...)`` raises a
ValidationError that names the field, the value and the limit, before anything is made.
"""

from __future__ import annotations

from pydantic import ConfigDict

PROPS = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

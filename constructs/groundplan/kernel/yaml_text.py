"""Kubernetes objects as YAML text: stable, readable, scripts as literal blocks."""

from __future__ import annotations

import re
from typing import Any

import yaml

#: libyaml's emitter where PyYAML has it: five times faster, the same bytes for what we write (tests/test_manifest.py).
_Base: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class _Dumper(_Base):  # type: ignore[misc]
    """Block literals for text with line breaks; no aliases, which Helm and reviewers would both stumble over."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


#: Words that YAML 1.1 or Go's YAML (kubectl, Helm) reads as something other than text: PyYAML quotes some of them only.
_AMBIGUOUS = re.compile(r"(?i:y|n|yes|no|on|off|true|false|null|~|\.inf|\.nan)|[-+.0-9][-+.0-9a-fA-FxXoOeE_:]*")


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = "|" if "\n" in value else "'" if _AMBIGUOUS.fullmatch(value) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


def to_yaml(data: Any) -> str:
    """`data` as YAML in its own key order, the same bytes on every machine."""
    text: str = yaml.dump(
        data, Dumper=_Dumper, sort_keys=False, default_flow_style=False, width=1000, allow_unicode=True
    )
    return text


def flow_yaml(data: Any) -> str:
    """The same in one line, as it stands within another text."""
    text: str = yaml.dump(data, Dumper=_Dumper, sort_keys=False, default_flow_style=True, width=100_000)
    return text.strip()

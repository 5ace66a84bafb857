"""Reads a provider's schema back out of the TypeScript that cdktf's generator made from it.

The generated text is regular, so no TypeScript parser is needed. For every attribute and block, at every depth, there
is one line ``// name - computed: X, optional: Y, required: Z``; the getter below it tells the type,
``listMapper(f, true)`` tells a block from an attribute of objects, and ``super(..., false, 0)`` one of at most one.
What the bindings never carried (force-new, defaults, validators) is not here: see :mod:`staged_terraform.facts`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from staged_terraform.schema_types import Attribute, Block, CtyType, NestedBlock, attribute_type

_PART = re.compile(r"^export (class|interface|function) (\w+)(.*)$", re.MULTILINE)
_ENTRY = re.compile(
    r"^  // (\w+) - computed: (\w+), optional: (\w+), required: (\w+)\n"
    r"(?:  private _\w+(.*)\n)?"
    r"  public get \w+\(\) \{\n    (.*)\n",
    re.MULTILINE,
)
_HCL = re.compile(r'^ +(\w+): \{\n +value: .*\n +isBlock: (\w+),\n +type: "(\w+)",\n +storageClassType: "(\w+)"', re.M)
_MAPPED = re.compile(r"^ +(\w+): cdktf\.listMapper\((?!cdktf\.)\w+, (true|false)\)", re.MULTILINE)
_NEW = re.compile(r"= new ([\w.]+)\(this, \"\w+\"(?:, (true|false))?\)")
_TYPE_NAME = re.compile(r'public static readonly tfResourceType = "(\w+)"')
_KIND = re.compile(r"export class (\w+) extends cdktf\.Terraform(Resource|DataSource|Provider) ")
_ELEMENT = re.compile(r"return new (\w+)\(")
_CHOICES = re.compile(r"Possible values: \[([^\]]*)\]")
_FIELD_DOCUMENTED = re.compile(r"^  /\*\*\n((?:  \*.*\n)*?)  \*/\n  readonly \w+(\??):", re.MULTILINE)
_ANCHOR = re.compile(r"#(\w+) \w+#\w+\}")

#: Getter -> cty type.
_GETTERS: dict[str, CtyType] = {
    "return this.getStringAttribute(": "string",
    "return this.getNumberAttribute(": "number",
    "return this.getBooleanAttribute(": "bool",
    "return this.getListAttribute(": ["list", "string"],
    "return cdktf.Fn.tolist(this.getListAttribute(": ["set", "string"],
    "return this.getNumberListAttribute(": ["list", "number"],
    "return cdktf.Token.asNumberList(cdktf.Fn.tolist(this.getNumberListAttribute(": ["set", "number"],
    "return this.getStringMapAttribute(": ["map", "string"],
    "return this.getAnyMapAttribute(": "dynamic",
}
_SIMPLE_CLASSES: dict[str, CtyType] = {
    "cdktf.StringMap": ["map", "string"],
    "cdktf.StringMapList": ["list", ["map", "string"]],
}
#: ``storageClassType`` -> cty type, for provider classes, which have no typed getters.
_STORAGE: dict[str, CtyType] = {
    "string": "string",
    "number": "number",
    "boolean": "bool",
    "stringList": ["list", "string"],
    "numberList": ["list", "number"],
    "stringMap": ["map", "string"],
}

Kind = Literal["resource", "data", "provider"]


@dataclass(slots=True)
class _Entry:
    """One line of a class: `place` is known, or settled by the order of names."""

    name: str
    required: bool
    optional: bool
    computed: bool
    place: Literal["attribute", "block", "either"]
    nesting: str = ""  # "", single, list, set
    members: str = ""  # the struct's name, for anything that has members
    type: CtyType = None
    most: int = 0


@dataclass(slots=True)
class Source:
    """The TypeScript of one type, all its files together, cut into classes, interfaces and functions."""

    framework: bool
    parts: dict[tuple[str, str], str] = field(default_factory=dict)
    kind: Kind = "resource"
    type_name: str = ""
    class_name: str = ""

    @classmethod
    def of(cls, text: str, framework: bool) -> Source:
        """`framework`: the provider is built on the plugin framework (helm), whose objects are nested attributes."""
        found = _KIND.search(text)
        name = _TYPE_NAME.search(text)
        if found is None or name is None:
            raise ValueError("no Terraform type in this file: the bindings are not what cdktf 0.21 generates")
        source = cls(framework, type_name=name[1], class_name=found[1])
        source.kind = {"Resource": "resource", "DataSource": "data", "Provider": "provider"}[found[2]]  # type: ignore[assignment]
        starts = list(_PART.finditer(text))
        for start, end in zip(starts, [*starts[1:], None], strict=True):
            source.parts[start[1], start[2]] = text[start.start() : end.start() if end else len(text)]
        return source

    def block(self) -> Block:
        """The type's schema."""
        body = self.parts["class", self.class_name]
        if self.kind == "provider":
            return self._assemble(self._provider_entries(f"{self.class_name}Config", body), {})
        return self._assemble(self._entries(body, body), self._choices(f"{self.class_name}Config"))

    def _struct(self, name: str) -> Block:
        """The schema of a nested struct, from its output reference if it has one (provider classes do not)."""
        function = name[0].lower() + name[1:]
        mapping = self.parts.get(("function", f"{function}ToTerraform"), "")
        hcl = self.parts.get(("function", f"{function}ToHclTerraform"), "")
        reference = self.parts.get(("class", f"{name}OutputReference"))
        if reference is None:
            return self._assemble(self._provider_entries(name, mapping + hcl), {})
        return self._assemble(self._entries(reference, mapping + hcl), self._choices(name))

    def _entries(self, body: str, mappings: str) -> list[_Entry]:
        is_block = {match[1]: match[2] == "true" for match in _MAPPED.finditer(mappings)}
        hcl = {match[1]: match[3] for match in _HCL.finditer(mappings)}
        entries = []
        for match in _ENTRY.finditer(body):
            name, declaration, getter = match[1], match[5] or "", match[6]
            entry = _Entry(name, match[4] == "true", match[3] == "true", match[2] == "true", "attribute")
            entries.append(entry)
            made = _NEW.search(declaration)
            if made is None:
                entry.type = _getter_type(getter)
            elif made[1] in _SIMPLE_CLASSES:
                entry.type = _SIMPLE_CLASSES[made[1]]
            elif made[1].endswith("OutputReference"):
                entry.members = made[1].removesuffix("OutputReference")
                if "super(terraformResource, terraformAttribute, false, 0)" in self.parts["class", made[1]]:
                    entry.place, entry.nesting, entry.most = "block", hcl.get(name, "list"), 1
                    entry.nesting = "set" if entry.nesting == "set" else "list"
                else:
                    entry.place, entry.nesting = "either", "single"
            else:
                element = _ELEMENT.search(self.parts["class", made[1]])
                assert element is not None, made[1]
                entry.members = element[1].removesuffix("OutputReference")
                entry.nesting = "set" if made[2] == "true" else "list"
                entry.place = "block" if is_block.get(name) else "attribute"
        return entries

    def _provider_entries(self, interface: str, mappings: str) -> list[_Entry]:
        optional = {
            anchor[1]: match[2] == "?"
            for match in _FIELD_DOCUMENTED.finditer(self.parts["interface", interface])
            if (anchor := _ANCHOR.search(match[1]))
        }
        entries = []
        for match in _HCL.finditer(mappings):
            name, kind, storage = match[1], match[3], match[4]
            if name == "alias" and interface.endswith("ProviderConfig"):
                continue  # the generator's own
            may = optional.get(name, True)
            entry = _Entry(name, not may, may, False, "block" if match[2] == "true" else "attribute")
            entries.append(entry)
            if storage in _STORAGE:
                entry.type = _STORAGE[storage]
                if kind == "set":
                    entry.type = ["set", entry.type[1]]
            else:
                entry.members = storage.removesuffix("List") if kind in ("list", "set") else storage
                entry.nesting = kind if kind in ("list", "set") else "single"
                if ("interface", entry.members) not in self.parts:
                    entry.members = storage
                if entry.nesting == "single" and self.framework:
                    entry.place = "attribute"
                if entry.place == "block" and self.framework:
                    entry.place = "attribute"
        return entries

    def _assemble(self, entries: list[_Entry], choices: dict[str, tuple[str, ...]]) -> Block:
        _settle(entries, self.framework)
        block = Block()
        for entry in entries:
            if entry.place == "block":
                least = 1 if entry.required else 0
                block.blocks[entry.name] = NestedBlock(entry.nesting, self._struct(entry.members), least, entry.most)
                continue
            attribute = Attribute(
                type=entry.type,
                required=entry.required,
                optional=entry.optional,
                computed=entry.computed,
                write_only=entry.name.endswith("_wo") and not entry.computed,
                choices=choices.get(entry.name, ()),
            )
            if entry.members:
                inner = self._struct(entry.members)
                if self.framework:
                    attribute.nesting, attribute.nested = entry.nesting, inner.attributes
                    if attribute.write_only:
                        for member in attribute.nested.values():
                            member.write_only, member.computed = True, False
                else:
                    members = ["object", {name: attribute_type(each) for name, each in inner.attributes.items()}]
                    attribute.type = members if entry.nesting == "single" else [entry.nesting, members]
            block.attributes[entry.name] = attribute
        return block

    def _choices(self, interface: str) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        for match in _FIELD_DOCUMENTED.finditer(self.parts.get(("interface", interface), "")):
            listed = _CHOICES.search(match[1].replace("\n  *", " "))
            anchor = _ANCHOR.search(match[1])
            if listed and anchor:
                values = tuple(value.strip().strip('"') for value in listed[1].split(","))
                found[anchor[1]] = tuple(value for value in values if value)
        return found


def _getter_type(getter: str) -> CtyType:
    for prefix in sorted(_GETTERS, key=len, reverse=True):
        if getter.startswith(prefix):
            return _GETTERS[prefix]
    raise ValueError(f"a getter this reader does not know: {getter.strip()}")


def _settle(entries: list[_Entry], framework: bool) -> None:
    """Decide single objects: the generator writes attributes in name order, then blocks in name order.

    Where the order starts again, blocks begin. Where it does not (the first block happens to sort after the last
    attribute) it cannot be seen: objects of the older SDK's providers are then blocks, the framework's are attributes.
    """
    if not any(entry.place == "either" for entry in entries):
        return
    names = [entry.name for entry in entries]
    restart = next((i for i in range(1, len(names)) if names[i] < names[i - 1]), None)
    if restart is None:
        last_attribute = max((i for i, entry in enumerate(entries) if entry.place == "attribute"), default=-1)
        restart = len(entries) if framework else last_attribute + 1
    for index, entry in enumerate(entries):
        if entry.place == "either":
            entry.place = "block" if index >= restart else "attribute"

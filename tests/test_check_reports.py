"""What `check` writes for programs: JSON, annotations of GitHub, SARIF."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from checking import BAD, GOOD, TOKEN, check


@pytest.mark.parametrize("format_", ["text", "json", "github", "sarif"])
@pytest.mark.parametrize(
    "text",
    [
        GOOD + f"secrets: {{hugging_face: {TOKEN}}}\n",
        GOOD + f"labels: {{{TOKEN.lower()}: x}}\n",
        GOOD + f"# {TOKEN}\n",
        GOOD + f"ignore: [{{rule: {TOKEN}, reason: who knows why}}]\n",
        GOOD + 'workload: {overrides: {logger: {api_key: "s3cr3t-of-mine"}}}\n',
    ],
)
def test_no_format_echoes_a_secret(tmp_path: Path, format_: str, text: str) -> None:
    result = check(tmp_path, "--format", format_, a=text)
    assert result.exit_code == 1
    for secret in (TOKEN, TOKEN.lower(), "s3cr3t-of-mine"):
        assert secret not in result.output


def test_json(tmp_path: Path) -> None:
    document = json.loads(check(tmp_path, "--format", "json", a=BAD).output)
    assert [document[key] for key in ("errors", "warnings", "ignored")] == [2, 1, 1]
    assert document["profiles"] == [{"file": f"{tmp_path}/a.yaml", "site": "nemo-rl"}]
    by_rule = {entry["rule"]: entry for entry in document["findings"]}
    assert by_rule["lustre-capacity-least"] == {
        "rule": "lustre-capacity-least",
        "severity": "error",
        "category": "storage",
        "message": "`storage.lustre.capacity_gib` 9000 is below 18000, the least for 500 MB/s per TiB",
        "hint": "use `capacity_gib: 18000` or `throughput: 1000`",
        "consequence": None,
        "path": "storage.lustre.capacity_gib",
        "stack": None,
        "address": None,
        "file": f"{tmp_path}/a.yaml",
        "line": 9,
        "column": 19,
        "standing": False,
        "ignored": None,
    }
    assert by_rule["nat-off"]["ignored"] == "images and models come from a mirror"


def test_github(tmp_path: Path) -> None:
    lines = check(tmp_path, "--format", "github", a=BAD).output.splitlines()
    assert f"::error file={tmp_path}/a.yaml,line=12,col=15,title=roce-mtu::" in "\n".join(lines)
    assert all(
        re.match(r"::(error|warning|notice) file=[^:]+,line=\d+,col=\d+,title=[^:]+::.+\Z", line) for line in lines
    )
    assert sum(line.startswith("::notice") for line in lines) == 1
    assert check(tmp_path, "--format", "github", a=GOOD).output == ""


#: What SARIF 2.1.0 demands of the parts that groundplan writes (OASIS, sections 3.13 to 3.35), closed against others.
SARIF: dict[str, Any] = {
    "type": "object",
    "required": ["version", "runs"],
    "additionalProperties": False,
    "properties": {
        "$schema": {"type": "string", "format": "uri"},
        "version": {"const": "2.1.0"},
        "runs": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/run"}},
    },
    "$defs": {
        "text": {
            "type": "object",
            "required": ["text"],
            "properties": {"text": {"type": "string", "minLength": 1}},
            "additionalProperties": False,
        },
        "level": {"enum": ["none", "note", "warning", "error"]},
        "run": {
            "type": "object",
            "required": ["tool", "results"],
            "additionalProperties": False,
            "properties": {
                "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                "tool": {
                    "type": "object",
                    "required": ["driver"],
                    "additionalProperties": False,
                    "properties": {
                        "driver": {
                            "type": "object",
                            "required": ["name"],
                            "additionalProperties": False,
                            "properties": {
                                "name": {"type": "string"},
                                "version": {"type": "string"},
                                "rules": {"type": "array", "uniqueItems": True, "items": {"$ref": "#/$defs/rule"}},
                            },
                        }
                    },
                },
                "results": {"type": "array", "items": {"$ref": "#/$defs/result"}},
            },
        },
        "rule": {
            "type": "object",
            "required": ["id"],
            "additionalProperties": False,
            "properties": {
                "id": {"type": "string"},
                "shortDescription": {"$ref": "#/$defs/text"},
                "fullDescription": {"$ref": "#/$defs/text"},
                "help": {"$ref": "#/$defs/text"},
                "defaultConfiguration": {"type": "object", "properties": {"level": {"$ref": "#/$defs/level"}}},
                "properties": {
                    "type": "object",
                    "properties": {"tags": {"type": "array", "items": {"type": "string"}}},
                },
            },
        },
        "result": {
            "type": "object",
            "required": ["message"],
            "additionalProperties": False,
            "properties": {
                "ruleId": {"type": "string"},
                "ruleIndex": {"type": "integer", "minimum": -1},
                "level": {"$ref": "#/$defs/level"},
                "message": {"$ref": "#/$defs/text"},
                "locations": {"type": "array", "items": {"$ref": "#/$defs/location"}},
                "partialFingerprints": {"type": "object", "additionalProperties": {"type": "string"}},
                "suppressions": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["kind"],
                        "additionalProperties": False,
                        "properties": {"kind": {"enum": ["inSource", "external"]}, "justification": {"type": "string"}},
                    },
                },
            },
        },
        "location": {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "physicalLocation": {
                    "type": "object",
                    "required": ["artifactLocation"],
                    "properties": {
                        "artifactLocation": {"type": "object", "required": ["uri"]},
                        "region": {
                            "type": "object",
                            "properties": {
                                "startLine": {"type": "integer", "minimum": 1},
                                "startColumn": {"type": "integer", "minimum": 1},
                            },
                        },
                    },
                },
                "logicalLocations": {
                    "type": "array",
                    "items": {"type": "object", "properties": {"fullyQualifiedName": {"type": "string"}}},
                },
            },
        },
    },
}


@pytest.mark.parametrize("text", [GOOD, BAD, "nonsense", "zone: us-central1-b\n"])
def test_sarif(tmp_path: Path, text: str) -> None:
    document = json.loads(check(tmp_path, "--format", "sarif", a=text).output)
    jsonschema.Draft202012Validator(SARIF).validate(document)
    (run,) = document["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert all(rules[result["ruleIndex"]]["id"] == result["ruleId"] for result in run["results"])


def test_sarif_suppresses_what_is_ignored(tmp_path: Path) -> None:
    (run,) = json.loads(check(tmp_path, "--format", "sarif", a=BAD).output)["runs"]
    suppressed = [result for result in run["results"] if "suppressions" in result]
    assert [result["ruleId"] for result in suppressed] == ["nat-off"]
    assert suppressed[0]["suppressions"] == [
        {"kind": "inSource", "justification": "images and models come from a mirror"}
    ]

"""The part of SARIF 2.1.0 that Remora writes, as a strict JSON Schema: from the standard's text."""

from typing import Any

_TEXT: dict[str, Any] = {"type": "string", "minLength": 1}
_NUMBER: dict[str, Any] = {"type": "integer", "minimum": 1}


def _object(required: str, **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": required.split(),
        "additionalProperties": False,
    }


def _list(items: Any, **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, **more}


_MESSAGE = _object("text", text=_TEXT)
_PLACE = _object(
    "uri uriBaseId",
    # RFC 3986: nothing but what may stand in a path, all else percent-encoded
    uri={"type": "string", "pattern": "^(?:[A-Za-z0-9._~/-]|%[0-9A-F]{2})+$"},
    uriBaseId={"const": "%SRCROOT%"},
)
_REGION = _object(
    "startLine", startLine=_NUMBER, startColumn=_NUMBER, endLine=_NUMBER, endColumn=_NUMBER
)
_REPLACEMENT = _object(
    "deletedRegion", deletedRegion=_REGION, insertedContent=_object("text", text=_TEXT)
)
_FIX = _object(
    "artifactChanges",
    artifactChanges=_list(
        _object(
            "artifactLocation replacements",
            artifactLocation=_PLACE,
            replacements=_list(_REPLACEMENT, minItems=1),
        ),
        minItems=1,
    ),
)
_LOCATION = _object(
    "physicalLocation",
    physicalLocation=_object("artifactLocation", artifactLocation=_PLACE, region=_REGION),
    logicalLocations=_list(_object("fullyQualifiedName", fullyQualifiedName=_TEXT)),
)
_RESULT = _object(
    "message ruleId ruleIndex level locations",
    ruleId=_TEXT,
    ruleIndex={"type": "integer", "minimum": 0},
    level={"enum": ["none", "note", "warning", "error"]},
    message=_MESSAGE,
    locations=_list(_LOCATION, minItems=1, maxItems=1),
    partialFingerprints={"type": "object", "additionalProperties": _TEXT},
    fixes=_list(_FIX, minItems=1),
    properties={"type": "object"},
)
_RUN = _object(
    "tool results",
    tool=_object(
        "driver",
        driver=_object(
            "name",
            name=_TEXT,
            version=_TEXT,
            rules=_list(_object("id", id=_TEXT), uniqueItems=True),
        ),
    ),
    automationDetails=_object("id", id=_TEXT),
    columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
    invocations=_list(
        _object(
            "executionSuccessful",
            executionSuccessful={"type": "boolean"},
            startTimeUtc={
                "type": "string",
                "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?Z$",
            },
            toolExecutionNotifications=_list(
                _object("message", message=_MESSAGE, level={"enum": ["note", "warning", "error"]})
            ),
        )
    ),
    results=_list(_RESULT),
    properties={"type": "object"},
)
LOG = _object("version runs", version={"const": "2.1.0"}, runs=_list(_RUN), **{"$schema": _TEXT})

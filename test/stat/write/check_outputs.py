#!/usr/bin/env python3
"""check_outputs.py SCHEMA JSON SPEEDSCOPE FOLDED SVG - what coppice-stat wrote.

The JSON keeps its schema and agrees with itself; the other files, of the same
look, say the same as it does.
"""
import json
import re
import sys
import xml.dom.minidom

try:
    import jsonschema
except ImportError:
    jsonschema = None

TYPES = {"object": dict, "array": list, "string": str, "integer": int,
         "boolean": bool}


def validate(schema, value, where):
    """Hold `value` against the words of JSON Schema that ours uses."""
    known = {"$schema", "title", "type", "required", "additionalProperties",
             "properties", "items", "const", "minimum", "minItems", "pattern"}
    assert set(schema) <= known, f"{where}: the schema has new words"
    if "const" in schema:
        assert value == schema["const"], f"{where}: {value!r}"
    if "type" in schema:
        kind = TYPES[schema["type"]]
        assert isinstance(value, kind), f"{where}: no {schema['type']}"
        assert kind is not int or not isinstance(value, bool), where
    if "minimum" in schema:
        assert value >= schema["minimum"], f"{where}: {value}"
    if "pattern" in schema:
        assert re.search(schema["pattern"], value), f"{where}: {value!r}"
    if isinstance(value, dict):
        for name in schema.get("required", []):
            assert name in value, f"{where}: no {name}"
        for name, member in value.items():
            assert name in schema["properties"], f"{where}: {name} is new"
            validate(schema["properties"][name], member, f"{where}.{name}")
    if isinstance(value, list):
        assert len(value) >= schema.get("minItems", 0), where
        for i, member in enumerate(value):
            validate(schema["items"], member, f"{where}[{i}]")


def members(text):
    """The tasks of a set."""
    found = set()
    for piece in text.split(",") if text else []:
        span, _, stride = piece.partition(":")
        first, _, last = span.partition("-")
        found.update(range(int(first), int(last or first) + 1,
                           int(stride or 1)))
    return found


def check_json(data):
    """Classes divide the tasks; a node has the tasks of what is below it."""
    sets = [members(text) for text in data["sets"]]
    classed = [task for c in data["classes"] for task in sets[c["set"]]]
    assert len(classed) == len(set(classed)) == data["tasks"]
    below = [set() for _ in data["nodes"]]
    path = []
    for i, node in enumerate(data["nodes"]):
        path[node["depth"]:] = [i]
        for end in node.get("ends", []):
            for above in path:
                below[above] |= sets[end["set"]]
    for node, tasks in zip(data["nodes"], below):
        assert sets[node["set"]] == tasks
        assert node["threads"] >= len(tasks)
    tops = sum(node["threads"] for node in data["nodes"] if node["depth"] == 0)
    assert tops == data["threads"]
    assert sum(c["threads"] for c in data["classes"]) == data["threads"]
    assert data["stopped_median_ns"] <= data["stopped_ns"]
    assert (data["stopped_median_ns"] > 0) == bool(data["hosts"])
    for c in data["classes"]:
        assert len(sets[c["set"]]) == c["tasks"]
        for node in c["nodes"]:
            assert sets[c["set"]] <= sets[data["nodes"][node]["set"]]
    for host in data["hosts"]:
        assert len(host["pids"]) == len(sets[host["set"]])
    return sum(len(sets[end["set"]]) * end["samples"]
               for node in data["nodes"] for end in node.get("ends", []))


def main(schema, data, speedscope, folded, svg):
    with open(schema, encoding="utf-8") as file:
        schema = json.load(file)
    with open(data, encoding="utf-8") as file:
        data = json.load(file)
    validate(schema, data, "look")
    if jsonschema:
        jsonschema.Draft7Validator.check_schema(schema)
        jsonschema.Draft7Validator(schema).validate(data)
    total = check_json(data)
    with open(speedscope, encoding="utf-8") as file:
        profiles = json.load(file)
    assert data["judgement"] and profiles["name"] == data["judgement"]
    profile = profiles["profiles"][0]
    assert sum(profile["weights"]) == profile["endValue"] == total
    assert len(profile["samples"]) == len(profile["weights"])
    with open(folded, encoding="utf-8") as file:
        lines = [line.rsplit(" ", 1) for line in file]
    assert sum(int(count) for _, count in lines) == total
    assert all(stack.startswith("main;") for stack, _ in lines)
    picture = xml.dom.minidom.parse(svg)
    words = " ".join(node.lastChild.data
                     for node in picture.getElementsByTagName("text"))
    assert data["judgement"] in words
    assert f"{data['tasks']} tasks" in words and "class 1: " in words


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Type stubs of the Python package, from the op table and the frames in tools/stubs.

The rules for the order and kind of parameters are those of python/src/signature.cpp; tests/python/package/test_functions.py compares
the two.
"""
import pathlib

HEAD = "# Generated from the op table by tools/generate.py; edit the room, or tools/stubs/*.pyi, not this file.\n"
TYPES = {"boolean": "builtins.bool", "integer": "_Int", "real": "_Real", "scalar": "_Number", "dtype": "_DType", "ints": "_Ints", "text": "str",
         "setting": "_Real | str", "texts": "Sequence[str]"}


def camel(name):
    return "".join(part.capitalize() for part in name.split("_"))


def default(attr):
    value, kind = attr["default"], attr["type"]
    if value is None:
        return "None"
    if kind == "ints":
        return str(value[0]) if len(value) == 1 else str(tuple(value))
    if kind == "scalar":
        return str(value)
    if kind == "setting":
        return repr(value)
    return repr(float(value)) if kind == "real" else repr(value)


def parameters(op):
    """(name, kind, type, default) in Python's order; kind: position, either, name, rest."""
    out = [(a["name"], "position", TYPES[a["type"]], None) for a in op["attrs"] if a["leading"]]
    variadic = any(p["variadic"] for p in op["params"])
    for p in op["params"]:
        if p["variadic"]:
            out.append((p["name"], "rest", "_Array | Sequence[_Array]", None))
        elif p["optional"]:
            out.append((p["name"], "either", "_Array | None", "None"))
        else:
            out.append((p["name"], "position", "_Array", None))
    for a in op["attrs"]:
        if a["required"] and not a["leading"]:
            out.append((a["name"], "name" if variadic else "either", TYPES[a["type"]], None))
    placed = not op["params"]
    for a in op["attrs"]:
        placed = placed and a["type"] != "dtype"
        if not a["required"]:
            kind = TYPES[a["type"]]
            if a["type"] == "integer" and any(b["name"] == "x1_" + a["name"] for b in op["attrs"]):
                kind += " | tuple[_Ints, _Ints]"
            if a["default"] is None or a["nullable"]:
                kind += " | None"
            out.append((a["name"], "either" if placed else "name", kind, default(a)))
    if op["takes_out"]:
        several = f"tuple[{', '.join(['Tensor'] * len(op['outputs']))}]"
        out.append(("out", "name", f"{several if len(op['outputs']) > 1 else 'Tensor'} | None", "None"))
    if op["group"] in ("creation", "data type") and any(a["type"] == "dtype" for a in op["attrs"]):
        out.append(("device", "name", "str | None", "None"))
    return out


def signature(op, bound=False):
    text, only, named = ["self"] if bound else [], False, False
    for name, kind, type_, value in parameters(op):
        if bound and name in ("key", "counter"):
            continue
        if only and kind != "position":
            text.append("/")
            only = False
        if kind == "rest":
            text.append(f"*{name}: {type_}")
            named = True
            continue
        if kind == "name" and not named:
            text.append("*")
            named = True
        only |= kind == "position"
        text.append(f"{name}: {type_}" + (f" = {value}" if value is not None else ""))
    return ", ".join(text + ["/"] * only)


def result(op):
    if op["outputs"][0].endswith("..."):
        return "tuple[Tensor, ...]"
    return camel(op["name"]) + "Result" if len(op["outputs"]) > 1 else "Tensor"


def function(op, indent="", name=None, diagnosed=False, bound=False):
    returns = f"tuple[{result(op)}, Diagnosis]" if diagnosed else result(op)
    return f"{indent}def {name or op['name']}({signature(op, bound)}) -> {returns}: ...\n"


def functions_of(ops, **how):
    """eigh(a, b) is eigh_generalized(a, b)."""
    wider = {op["name"].removesuffix("_generalized"): op for op in ops if op["name"].endswith("_generalized")}
    return "".join(f"@overload\n{function(op, **how)}@overload\n{function(wider[op['name']], name=op['name'], **how)}"
                   if op["name"] in wider else function(op, **how) for op in ops)


def tuples(ops):
    return "".join(f"class {result(op)}(NamedTuple):\n" + "".join(f"    {o}: Tensor\n" for o in op["outputs"]) + "\n"
                   for op in ops if len(op["outputs"]) > 1)


def stubs(ops, tree):
    """Path → text."""
    by_space = {}
    for op in ops:
        by_space.setdefault(op["namespace"], []).append(op)
    written = {}
    for space, here in by_space.items():
        frame = (pathlib.Path(tree) / "tools" / "stubs" / f"{space or 'wellposed'}.pyi").read_text()
        functions = tuples(here) + functions_of(here)
        if "@methods@" in frame:
            methods = "".join(function(op, "    ", bound=True) for op in here if any(a["name"] == "key" for a in op["attrs"]))
            frame = frame.replace("    # @methods@\n", methods)
        written[f"python/wellposed/{space + '/' if space else ''}__init__.pyi"] = HEAD + frame.replace("# @functions@\n", functions)
        judged = [op for op in here if op["diagnoses"]]
        if judged:
            names = ", ".join(sorted({result(op) for op in judged} - {"Tensor"}))
            written[f"python/wellposed/{space}/diagnosed.pyi"] = (
                HEAD + '"""The functions of wellposed.linalg with what can be said of the answer: (value, Diagnosis)."""\n'
                "import builtins\nfrom collections.abc import Sequence\nfrom typing import overload\n\nfrom .. import Tensor, _Array, _DType, _Int, _Ints, _Number, _Real\n"
                f"from . import Diagnosis, {names}\n\n" + functions_of(judged, diagnosed=True))
    return written

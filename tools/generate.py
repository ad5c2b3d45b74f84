#!/usr/bin/env python3
"""Writes what is derived from the op table: public headers, their definitions, the op reference, ops.json
and the type stubs of the Python package.

    tools/generate.py --ops build/release/bin/wp_print_ops --tree .           writes
    tools/generate.py --ops build/release/bin/wp_print_ops --tree . --check   fails when a file differs
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys

import stubs

HEAD = "// Generated from the op table by tools/generate.py; edit the room, not this file.\n"
CPP_TYPES = {"boolean": "bool", "integer": "std::int64_t", "real": "double", "scalar": "const Scalar&",
             "dtype": "DType", "ints": "const Ints&", "text": "std::string_view", "setting": "const Setting&",
             "texts": "const std::vector<std::string>&"}
MEMBER_TYPES = {**CPP_TYPES, "scalar": "Scalar", "ints": "Ints", "setting": "Setting", "texts": "std::vector<std::string>"}
UNARY = {"-", "~", "+"}
OUT = "Where the result is written: a tensor of its dtype and shape whose memory nobody else sees."
OUT_OF_SEVERAL = "Where the results are written: tensors of their dtypes and shapes whose memory nobody else sees."
ASSIGNING = {"+", "-", "*", "/", "%", "&", "|", "^"}


def camel(name):
    return "".join(part.capitalize() for part in name.split("_"))


def cpp_default(attr):
    value, kind = attr["default"], attr["type"]
    if value is None:
        return None
    if kind == "boolean":
        return "true" if value else "false"
    if kind in ("text", "setting"):
        return json.dumps(value)
    if kind == "dtype":
        return f"DType::{'boolean' if value == 'bool' else value}"
    if kind in ("ints", "texts"):
        return "{" + ", ".join(map(str, value)) + "}"
    return str(value)


class Function:
    """One public C++ function."""

    def __init__(self, op):
        self.op = op
        self.name = op["name"]
        self.params = op["params"]
        self.positional = [a for a in op["attrs"] if a["required"]]
        self.options = [a for a in op["attrs"] if not a["required"]]
        self.takes_out = op["takes_out"]
        self.variadic = bool(self.params) and self.params[-1]["variadic"]
        outputs = op["outputs"]
        self.many = outputs[0].endswith("...")
        self.named = outputs if len(outputs) > 1 else None
        self.options_type = camel(self.name) + "Options"
        self.result = "Tensors" if self.many else camel(self.name) + "Result" if self.named else "Tensor"

    def parameters(self, defaults):
        out = [f"{CPP_TYPES[a['type']]} {a['name']}" for a in self.positional if a["leading"]]
        for p in self.params:
            if p["variadic"]:
                out.append(f"const Tensors& {p['name']}")
            else:
                out.append(f"const In& {p['name']}" + (" = std::nullopt" if p["optional"] and defaults and not self.positional else ""))
        out += [f"{CPP_TYPES[a['type']]} {a['name']}" for a in self.positional if not a["leading"]]
        if self.options or self.takes_out:
            out.append(f"const {self.options_type}& options" + (" = {}" if defaults else ""))
        out.append("std::source_location where" + (" = std::source_location::current()" if defaults else ""))
        return ", ".join(out)

    def structs(self):
        text = ""
        if self.named:
            text += f"struct {self.result} {{\n  Tensor {', '.join(self.named)};\n}};\n"
        if self.options or self.takes_out:
            text += f"struct {self.options_type} {{\n"
            for a in self.options:
                default = cpp_default(a)
                kind = MEMBER_TYPES[a["type"]]
                if default is None or a["nullable"]:
                    kind = "OptionalInts" if kind == "Ints" else f"std::optional<{kind}>"
                member = f"{kind} {a['name']} = {default or 'std::nullopt'}"
                text += f"  {member};" + (f"  // {a['doc']}" if a["doc"] else "") + "\n"
            if self.takes_out:
                text += f"  {self.result}* out = nullptr;  // {self.out_words()}\n"
            text += "};\n"
        return text

    def out_words(self):
        return OUT_OF_SEVERAL if self.named else OUT

    def comment(self):
        text = self.op["doc"]
        for p in self.params:
            if p["doc"]:
                text += f" {p['name']}: {p['doc']}"
        for a in self.positional:
            if a["doc"]:
                text += f" {a['name']}: {a['doc']}"
        if self.op["domain"]:
            text += f" Domain: {self.op['domain']}."
        return wrap("// ", text)

    def declaration(self):
        return f"{self.structs()}{self.comment()}{self.result} {self.name}({self.parameters(True)});\n"

    def diagnosed_declaration(self):
        return f"Diagnosed<{self.result}> {self.name}({self.parameters(True)});\n"

    def call(self, names, place, diagnosed=False):
        """The body of a function whose arguments have these names."""
        attrs = ", ".join(self.attr_value(a) for a in self.op["attrs"])
        body = ""
        if self.variadic:
            fixed = [n + ".tensor()" for n in names[:-1]]
            body += "  SmallVector<const Tensor*, 8> in;\n"
            for f in fixed:
                body += f"  in.push_back(&{f});\n"
            body += f"  for (const Tensor& t : {names[-1]}) in.push_back(&t);\n"
            inputs = "Inputs(in.data(), in.size())"
        elif names:
            body += "  const Tensor* const in[] = {" + ", ".join(f"&{n}.tensor()" for n in names) + "};\n"
            inputs = "Inputs(in)"
        else:
            inputs = "Inputs(nullptr, 0)"
        if attrs:
            body += f"  const Attr attrs[] = {{{attrs}}};\n"
        arguments = f"op_{self.entry()}, {inputs}, {'attrs' if attrs else 'Attrs()'}, {place}"
        if self.takes_out and (self.named or diagnosed):
            places = [f"&options.out->{n}" for n in self.named] if self.named else ["options.out"]
            body += f"  Tensor* const into[] = {{{', '.join(f'options.out ? {p} : nullptr' if self.named else p for p in places)}}};\n"
            arguments += f", Into(into, options.out ? {len(places)} : 0)"
        elif self.takes_out:
            arguments += ", options.out"
        if diagnosed:
            fields = ", ".join(f"std::move(out[{i}])" for i in range(len(self.named or [0])))
            fields = f"{{{fields}}}" if self.named else fields
            return body + f"  auto [out, diagnosis] = call_diagnosed({arguments});\n  return {{{fields}, diagnosis}};\n"
        if self.many:
            return body + f"  return call({arguments});\n"
        if self.named:
            fields = ", ".join(f"std::move(out[{i}])" for i in range(len(self.named)))
            return body + f"  Tensors out = {'call_into' if self.takes_out else 'call'}({arguments});\n  return {{{fields}}};\n"
        return body + f"  return {'call_into' if self.takes_out else 'call1'}({arguments});\n"

    def entry(self):
        ns = self.op["namespace"]
        return f"{ns}_{self.name}" if ns else self.name

    def attr_value(self, a):
        access = a["name"] if a["required"] else f"options.{a['name']}"
        if a["type"] == "ints":
            return f"Attr({access})" if a["required"] or (a["default"] is not None and not a["nullable"]) else f"({access} ? Attr(*{access}) : Attr())"
        if a["type"] == "text" and not a["choices"]:
            return f"Attr(intern({access}))"
        return f"Attr({access})"

    def definition(self):
        names = [p["name"] for p in self.params]
        return f"{self.result} {self.name}({self.parameters(False)}) {{\n{self.call(names, 'Place(where)')}}}\n"

    def diagnosed_definition(self):
        names = [p["name"] for p in self.params]
        return f"Diagnosed<{self.result}> {self.name}({self.parameters(False)}) {{\n{self.call(names, 'Place(where)', True)}}}\n"

    def operators(self):
        sign = self.op["operator"]
        if not sign:
            return "", ""
        unary = len(self.params) == 1
        args = "const In& x" if unary else "const In& x1, const In& x2"
        declaration = f"Tensor operator{sign}({args});\n"
        definition = f"Tensor operator{sign}({args}) {{\n{self.call(['x'] if unary else ['x1', 'x2'], ('x' if unary else 'x1') + '.place()')}}}\n"
        if sign in ASSIGNING and not unary:
            declaration += f"Tensor& operator{sign}=(Tensor& x1, const In& x2);\n"
            definition += f"Tensor& operator{sign}=(Tensor& x1, const In& x2) {{\n  const Tensor* const in[] = {{&x1, &x2.tensor()}};\n" \
                          f"  return x1 = call1(op_{self.entry()}, Inputs(in), Attrs(), x2.place());\n}}\n"
        return declaration, definition


def wrap(prefix, text, width=118):
    out, line = "", prefix
    for word in text.split():
        if len(line) + len(word) + 1 > width and line != prefix:
            out += line.rstrip() + "\n"
            line = prefix
        line += word + " "
    return out + line.rstrip() + "\n"


def slug(group):
    return re.sub(r"[^a-z]+", "_", group.lower())


def spaced(ns, text):
    return f"namespace {ns} {{\n{text}}}  // namespace {ns}\n" if ns else text


DIAGNOSED = "// The same functions with what can be said of the answer. Numerical trouble does not raise: the bad members are NaN.\n"


def diagnosed(functions, part, comment=""):
    body = "\n".join(part(f) for f in functions if f.op["diagnoses"])
    return f"\n{comment}namespace diagnosed {{\n{body}}}  // namespace diagnosed\n" if body else ""


def header(group, functions):
    text = f"{HEAD}// {group[0].upper()}{group[1:]} functions.\n#pragma once\n#include <optional>\n#include <string_view>\n\n"
    types = {a["type"] for f in functions for a in f.op["attrs"]}
    includes = ["ints"] + ["setting"] * ("setting" in types) + ["tensor"]
    if any(f.op["diagnoses"] for f in functions):
        includes.insert(0, "diagnosis")
    text += "".join(f'#include "wellposed/{i}.hpp"\n' for i in includes) + '\nnamespace [[gnu::visibility("default")]] wp {\n\n'
    for ns in sorted({f.op["namespace"] for f in functions}):
        here = [f for f in functions if f.op["namespace"] == ns]
        text += spaced(ns, "\n".join(f.declaration() for f in here) + diagnosed(here, Function.diagnosed_declaration, DIAGNOSED)) + "\n"
    operators = "".join(f.operators()[0] for f in functions)
    return text + (operators + "\n" if operators else "") + "}  // namespace wp\n"


def source(group, functions):
    text = f'{HEAD}#include "ops/dispatch.hpp"\n#include "wellposed/ops/{slug(group)}.hpp"\n\nnamespace wp {{\n\n'
    text += "".join(f"extern const Op op_{f.entry()};\n" for f in functions) + "\n"
    for ns in sorted({f.op["namespace"] for f in functions}):
        here = [f for f in functions if f.op["namespace"] == ns]
        text += spaced(ns, "\n".join(f.definition() for f in here) + diagnosed(here, Function.diagnosed_definition)) + "\n"
    return text + "".join(f.operators()[1] for f in functions) + "}  // namespace wp\n"


def reference(groups):
    text = "# Op reference\n\nGenerated from the op table (`wellposed ops --json`). C++ names are in `namespace wp`.\n"
    for group, functions in groups.items():
        text += f"\n## {group[0].upper()}{group[1:]}\n"
        for f in functions:
            ns = f.op["namespace"]
            arguments = [a["name"] for a in f.positional if a["leading"]]
            arguments += [p["name"] + ("..." if p["variadic"] else "?" if p["optional"] else "") for p in f.params]
            arguments += [a["name"] for a in f.positional if not a["leading"]]
            arguments += [f"{a['name']}={'none' if a['default'] is None else json.dumps(a['default'])}" for a in f.options]
            arguments += ["out=none"] * f.takes_out
            text += f"\n### `{ns + '.' if ns else ''}{f.name}({', '.join(arguments)})`\n{f.op['doc']}\n\n"
            for p in f.params:
                text += f"- `{p['name']}`: {p['accepts']}{'; optional' if p['optional'] else ''}. {p['doc']}".rstrip() + "\n"
            for a in f.positional + f.options:
                choices = " One of " + ", ".join(f"`{c}`" for c in a["choices"]) + "." if a["choices"] else ""
                text += f"- `{a['name']}` ({a['type']}): {a['doc']}{choices}".rstrip() + "\n"
            if f.takes_out:
                text += f"- `out` ({'tensors' if f.named else 'tensor'}): {f.out_words()}\n"
            if f.named:
                text += f"- returns {', '.join(f'`{n}`' for n in f.named)}\n"
            if f.op["operator"]:
                text += f"- operator `{f.op['operator']}`\n"
            if f.op["domain"]:
                text += f"- domain: {f.op['domain']}\n"
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ops", required=True, help="the executable wp_print_ops")
    parser.add_argument("--tree", type=pathlib.Path, required=True)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    raw = subprocess.run([options.ops], check=True, capture_output=True, text=True).stdout
    groups = {}
    ops = json.loads(raw)["ops"]
    for op in ops:
        groups.setdefault(op["group"], []).append(Function(op))
    groups = dict(sorted(groups.items()))
    files = {"docs/ops.json": raw, "docs/ops.md": reference(groups)}
    include = f"{HEAD}#pragma once\n"
    for group, functions in groups.items():
        files[f"include/wellposed/ops/{slug(group)}.hpp"] = header(group, functions)
        files[f"src/ops/api/{slug(group)}.cpp"] = source(group, functions)
        include += f'#include "wellposed/ops/{slug(group)}.hpp"\n'
    files["include/wellposed/ops.hpp"] = include
    files.update(stubs.stubs(ops, options.tree))
    stale = [p for d in ("include/wellposed/ops", "src/ops/api") for p in (options.tree / d).glob("*.?pp")
             if str(p.relative_to(options.tree)) not in files]
    different = [name for name, text in files.items()
                 if not (options.tree / name).exists() or (options.tree / name).read_text() != text]
    if options.check:
        for name in different + [str(p) for p in stale]:
            print(f"{name} is not what the op table says: run `cmake --build build/release --target generate`")
        sys.exit(bool(different or stale))
    for path in stale:
        path.unlink()
    for name in different:
        (options.tree / name).parent.mkdir(parents=True, exist_ok=True)
        (options.tree / name).write_text(files[name])
        print("wrote", name)


if __name__ == "__main__":
    main()

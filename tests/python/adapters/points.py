"""Six points for what a report names: op, scope, line, element, operands, origin. A program marks its culprit with a comment `# here`."""
import inspect
import re


def line_of(function, mark="# here"):
    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, text in enumerate(lines) if mark in text)


def check(report, *, op, scope, line, element, operands, origin, file):
    """The points that the report misses."""
    wanted = {"op": op, "scope": scope, "line": rf"{re.escape(file.rpartition('/')[2])}:{line}\b", "element": element, "operands": operands,
              "origin": origin}
    return [name for name, pattern in wanted.items() if pattern is not None and not re.search(pattern, report)]

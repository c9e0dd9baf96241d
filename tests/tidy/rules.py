"""The rules of the house, as functions from text to complaints, so that each can be tested on a
bad sample.

Not here: which files they are applied to (tests/test_tidy.py).
"""

from __future__ import annotations

import ast
import re
from collections import Counter

FLOORS = {
    "base": 0,
    "crypto": 1,
    "wire": 2,
    "plat": 2,
    "batch": 2,
    "queue": 3,
    "spool": 3,
    "order": 3,
    "role": 4,
    "tran": 4,
    "engine": 5,
    "wake": 6,
    "socket": 7,
    "link": 8,
    "ends": 9,
    "sched": 10,
    "api": 11,
    "binding": 12,
}
"""The folders below csrc and how high each stands."""
FILE_MAX = 500
FUNCTION_MAX = 70
C_LINE_MAX = 100
HEADER_LINE_MAX = 120
"""Headers are tables with a comment to each row."""
SYSTEM_HEADERS = re.compile(
    r"^\s*#\s*include\s*<(sys/|unistd|fcntl|netinet|netdb|arpa|poll|signal|time\.h|net/|dlfcn)",
    re.MULTILINE,
)
COUNTS_DROPS = re.compile(r"(?:->|\.)dropped(?:\+\+| \+=)")
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
SCHEME = re.compile(r"inproc|(?<![a-z])(?:tcp|ipc)(?![a-z])", re.IGNORECASE)
KNOW_SCHEMES = {"base/limits.h", "wire/zmtp/wire.c", "wire/sp/wire.c"}
"""Beside transports and the streams of the system: limits, and what a peer of the other wire is
told to connect to."""
BANNED_WORDS = re.compile(
    r"\b(?:class|def|struct|enum)\s+(?!ssl_session_st\b)\w*?(manager|handler|util|helper|session)\w*",
    re.IGNORECASE,
)
"""OpenSSL's is not ours to name."""
_RETIRED_ANYWHERE = (
    r"told anew|unfit|lags|lagging|catch(?:es)? up|catch_up|hurry|hastened|unpark|rouse|stir"
    r"|eased?|rested|spend|recv_here|mmi_fast\w*"
)
RETIRED = re.compile(
    rf"(?<![a-zA-Z])({_RETIRED_ANYWHERE}|(?<!venv-)(?<!conda-)packs?|\w+_soon\()(?![a-z])"
)
"""docs/words.md says what is said instead; two programs are called so."""
RETIRED_IN_PYTHON = re.compile(rf"(?<![a-zA-Z])({_RETIRED_ANYWHERE})(?![a-z])")
"""There `pack` is what `struct` does, and `call_soon` is a loop's."""
UNFINISHED = re.compile(r"NotImplementedError\(|\bTODO\b|\bFIXME\b|\bXXX\b")
ROOMS = {
    "_hints": 0,
    "_binding": 1,
    "_dedupe": 2,
    "_events": 2,
    "_mesh": 2,
    "_security": 2,
    "_spool": 2,
    "ordering": 2,
    "_socket": 3,
    "_roles": 4,
    "_ranges": 4,
    "_sync": 5,
    "aio": 5,
    "testing": 5,
    "tracing": 5,
    "mesh": 6,
    "_cli": 7,
}
"""The folders below src/meshmsg and how high each stands."""
EXTENSION = {"meshmsg._mm", "meshmsg._native"}
MRO_MAX = 5
"""Classes of the library's a public class is made of, itself included; not the native one."""
FOLDER_FILES_MAX = 15
"""Python files of a folder of the library."""
BANNED_CALLS = {"pickle", "marshal", "shelve", "eval", "exec"}


def floor_of(path: str) -> str:
    """Return the floor of a C file or of an include."""
    return path.split("/")[0]


def wrong_includes(path: str, text: str) -> list[str]:
    """A floor includes only floors below it, or itself."""
    own = floor_of(path)
    if own not in FLOORS:
        return [] if own == "include" else [f"{path}: {own} is no floor"]
    found = []
    for line, name in enumerate(re.findall(r'^\s*#\s*include\s*"([^"]+)"', text, re.MULTILINE)):
        other = floor_of(name)
        if "/" not in name or other == own:
            continue
        if FLOORS[other] >= FLOORS[own]:
            found.append(f"{path}: include {line + 1}, {name}, is no floor below {own}")
    return found


PRIVATE_HEADER = re.compile(r"\bPrivate to (\w+)/\.")
"""What a header says that is for the files of its own room."""


def private_includes(texts: dict[str, str]) -> list[str]:
    """Who includes a header that says that it is private to another floor; `texts` is the text of
    each C file by its path."""
    owners = {
        path: said[1]
        for path, text in texts.items()
        if path.endswith(".h") and (said := PRIVATE_HEADER.search(text.partition("*/")[0]))
    }
    return [
        f"{path}: {name} is private to {owners[name]}"
        for path, text in sorted(texts.items())
        for name in re.findall(r'^\s*#\s*include\s*"([^"]+)"', text, re.MULTILINE)
        if floor_of(path) != owners.get(name, floor_of(path))
    ]


OTHERS_TYPES = ("crypto/openssl.h", "#include <time.h")
"""OpenSSL's prototypes have a time_t; no clock is read there."""


def system_includes(path: str, text: str) -> list[str]:
    """Only plat/ touches the system."""
    if floor_of(path) == "plat":
        return []
    found = [m.group().strip() for m in SYSTEM_HEADERS.finditer(text)]
    return [f"{path}: system header {name}" for name in found if (path, name) != OTHERS_TYPES]


def named_schemes(path: str, text: str) -> list[str]:
    """Only a transport knows a scheme; examples in comments are fine."""
    if floor_of(path) in ("tran", "plat") or path in KNOW_SCHEMES:
        return []
    code = COMMENT.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)
    lines = enumerate(code.splitlines())
    return [f"{path}:{i + 1}: names a scheme" for i, line in lines if SCHEME.search(line)]


KNOW_ROLES = ("wire/sp/sp.c", "include/meshmsg_codes.h")
"""SP's numbers, each with the role that speaks it; ours."""
ROLE = re.compile(
    r"\bMM_(?:PUSH|PULL|X?PUB|X?SUB|REQ|REP|DEALER|ROUTER|PAIR|SURVEYOR|RESPONDENT|BUS)\b"
)
ROLE_OF_A_FORM = re.compile(r"^    _role: ClassVar\[int\] = lib\.", re.MULTILINE)


def asks_which_role(path: str, text: str) -> list[str]:
    """What differs by role is said in its table (role/role.h), or by its form (_roles)."""
    if path.startswith("role/") or path in KNOW_ROLES:
        return []
    code = COMMENT.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)
    lines = enumerate(code.splitlines())
    return [
        f"{path}:{i + 1}: asks which role it is"
        for i, line in lines
        if ROLE.search(line) and not ("/_roles/" in path and ROLE_OF_A_FORM.match(line))
    ]


BY_NAME = re.compile(r"\bPyObject_(?:CallMethod|GetAttr|GetOptionalAttr|HasAttr)\w*\s*\(")
OF_PYTHON = {
    "binding/coroutine.c": {'"close"', '"throw"', '"__qualname__"', "name"},
    "binding/socket.c": {'"__doc__"', '"__qualname__"', '"MethodType"', "name"},
    "binding/peer.c": {"peer_attribute"},
    "binding/stream.c": {"name"},
}
"""What C may look for by name, and where: what Python's own objects have (a coroutine, a
function), and the `peer` of a message."""


def second_argument(text: str) -> str:
    """Of a call in C, from behind its parenthesis on."""
    depth, arguments = 1, [""]
    for char in text:
        depth += (char == "(") - (char == ")")
        if depth == 0:
            break
        if char == "," and depth == 1:
            arguments.append("")
        else:
            arguments[-1] += char
    return arguments[1].strip() if len(arguments) > 1 else ""


def called_by_name(path: str, text: str) -> list[str]:
    """C calls what was given to it: a name that is wrong would show only when it is needed."""
    known = OF_PYTHON.get(path, set())
    calls = [(m.start(), second_argument(text[m.end() :])) for m in BY_NAME.finditer(text)]
    return [
        f"{path}:{text.count(chr(10), 0, at) + 1}: looks for {name} by name; have it given once, "
        "as native.form and native.async_rests are"
        for at, name in calls
        if name not in known
    ]


def counts_drops(path: str, text: str) -> list[str]:
    """What a peer dropped is counted in one place, so that no drop is counted there alone."""
    counted = COUNTS_DROPS.search(text) and path != "queue/drop.c"
    return [f"{path}: counts drops of a pipe; call mmi_drop_of"] if counted else []


def long_c(path: str, text: str) -> list[str]:
    """Files, functions and lines of C stay short."""
    lines = text.splitlines()
    limit = HEADER_LINE_MAX if path.endswith(".h") else C_LINE_MAX
    found = [f"{path}:{i + 1}: {len(s)} columns" for i, s in enumerate(lines) if len(s) > limit]
    if len(lines) > FILE_MAX:
        found.append(f"{path}: {len(lines)} lines")
    start = None
    for i, line in enumerate(lines):
        if line == "{":
            start = i
        elif line == "}" and start is not None:
            if i - start > FUNCTION_MAX:
                found.append(f"{path}:{start + 1}: a function of {i - start} lines")
            start = None
    return found


OF_ONE_WIRE = re.compile(
    r"\b(?:mmi_sp_|MMI_SP_|mmi_command_(?:put|parse)|mmi_frame_head|mmi_hello|mmi_ready_(?:put|parse)|"
    r"mmi_reader_(?!room\b)|mmi_msg_seal|MMI_WIRE_|mmi_wire_(?:zmtp|sp\b)|mmi_framing_|"
    r"wire/(?:zmtp|sp)/)\w*|\bwire\s*->\s*(?:id|minor|name)\s*[=!<>]=?"
)
"""Names of one wire, and questions which it is."""
BELONGS_TO_A_WIRE = (
    *("base/limits.h", "wire/", "include/"),
    *("api/sp.c", "api/zmtp.c", "api/curve", "api/plain"),
)
"""Where those may stand: the wires themselves, and the doors to them that tests and tools use."""


def asks_which_wire(path: str, text: str) -> list[str]:
    """Outside csrc/wire a wire is its table."""
    if path.startswith(BELONGS_TO_A_WIRE):
        return []
    return [f"{path}: {m.group()}: ask the wire's table" for m in OF_ONE_WIRE.finditer(text)]


def missing_header(path: str, text: str) -> list[str]:
    """Each C file says what it is."""
    return [] if text.startswith("/*\n * ") else [f"{path}: no comment at the top"]


def long_python(path: str, text: str) -> list[str]:
    """Files and functions of Python stay short."""
    found = [f"{path}: {len(text.splitlines())} lines"] if len(text.splitlines()) > FILE_MAX else []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.end_lineno:
            size = node.end_lineno - node.lineno
            if size > FUNCTION_MAX:
                found.append(f"{path}:{node.lineno}: {node.name} has {size} lines")
    return found


def is_form(base: ast.expr) -> bool:
    """Whether a base of a class is the form of a role, which has the docstring."""
    name = base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")
    return name.endswith("Form")


def deep(kind: type) -> list[str]:
    """A class is made of few others of the library, so that a method is found at once."""
    own = [base for base in kind.__mro__ if base.__module__.startswith("meshmsg")]
    written = [base for base in own if base.__module__ != "meshmsg._native"]
    return [f"{kind}: {written}"] if len(written) > MRO_MAX else []


def is_overload(child: ast.AST) -> bool:
    """Whether it only tells types: what it does, the function itself says."""
    marks = getattr(child, "decorator_list", [])
    return any(isinstance(mark, ast.Name) and mark.id == "overload" for mark in marks)


def undocumented(path: str, text: str) -> list[str]:
    """Modules, public classes and their public methods have docstrings."""
    tree = ast.parse(text)
    found = [] if ast.get_docstring(tree) else [f"{path}: no docstring"]
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    for node in ast.walk(tree):
        if not isinstance(node, (ast.Module, ast.ClassDef)):
            continue
        for child in node.body if not getattr(node, "name", "").startswith("_") else []:
            if isinstance(child, ast.ClassDef) and any(map(is_form, child.bases)):
                continue  # its docstring is its form's
            if (
                isinstance(child, kinds)
                and not is_overload(child)
                and not child.name.startswith("_")
                and not ast.get_docstring(child)
            ):
                found.append(f"{path}:{child.lineno}: {child.name} has no docstring")
    return found


def banned_names(path: str, text: str) -> list[str]:
    """Words that say nothing are no names."""
    return [f"{path}: {m.group()}" for m in BANNED_WORDS.finditer(text)]


def unfinished(path: str, text: str) -> list[str]:
    """Nothing is left for later."""
    return [f"{path}: {m.group()}" for m in UNFINISHED.finditer(text)]


def retired_words(path: str, text: str) -> list[str]:
    """One word for a thing, that of docs/words.md."""
    body = text.partition("## Not said any more")[0]
    retired = RETIRED_IN_PYTHON if path.endswith(".py") else RETIRED
    return [f"{path}: {m.group()}" for m in retired.finditer(body)]


def banned_calls(path: str, text: str) -> list[str]:
    """Nothing that could run what a peer sent."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            names = [node.func.id]
        else:
            continue
        found += [f"{path}:{node.lineno}: {name}" for name in names if name in BANNED_CALLS]
    return found


def sleeps(path: str, text: str) -> list[str]:
    """Tests wait for events, not for time."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name = node.func
            of = name.value.id if isinstance(name.value, ast.Name) else ""
            zero = (
                bool(node.args)
                and isinstance(node.args[0], ast.Constant)
                and node.args[0].value == 0
            )
            if name.attr == "sleep" and of in ("time", "asyncio") and not zero:
                found.append(f"{path}:{node.lineno}: {of}.sleep")
    return found


def private_imports(path: str, text: str) -> list[str]:
    """What stands on the library uses its public names only."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("meshmsg."):
            parts = (node.module or "").split(".")
            own = parts[1] in ("patterns", "spark", "bench")
            if not own and any(part.startswith("_") for part in parts):
                found.append(f"{path}:{node.lineno}: {node.module}")
    return found


def imports_extension(path: str, text: str) -> list[str]:
    """One module of the library imports what is built of C."""
    if path.endswith("meshmsg/_binding/core.py"):
        return []
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            names = [node.module or "", *(f"{node.module}.{a.name}" for a in node.names)]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        found += [f"{path}:{node.lineno}: {n}" for n in names if n in EXTENSION]
    return found


def wrong_rooms(path: str, text: str) -> list[str]:
    """A room of the library imports only rooms below it, or itself; for its types as well."""
    own = path.partition("meshmsg/")[2].split("/")[0]
    if own not in ROOMS:
        return []
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("meshmsg."):
            other = (node.module or "").split(".")[1]
            if other != own and other in ROOMS and ROOMS[other] >= ROOMS[own]:
                found.append(f"{path}:{node.lineno}: {node.module} is no room below {own}")
    return found


def crowded(paths: list[str]) -> list[str]:
    """A folder has few files, so that a list of them can be read."""
    count = Counter(path.rpartition("/")[0] for path in paths)
    return [f"{name}: {n} files" for name, n in count.items() if n > FOLDER_FILES_MAX]


def impure_cdef(path: str, text: str) -> list[str]:
    """Between the markers of the header stands only what cffi reads."""
    body = text.partition("/* cdef:begin */")[2].partition("/* cdef:end */")[0]
    found = (
        [f"{path}: a preprocessor line in the cdef"]
        if re.search(r"^\s*#", body, re.MULTILINE)
        else []
    )
    if re.search(r"\bextern\b", body):
        found.append(f"{path}: extern in the cdef")
    if not body.strip():
        found.append(f"{path}: no cdef")
    return found

"""What `help()`, IPython and Jupyter show of a socket's class: every option, with its default.

The constructors take `**options: Unpack[SocketOptions]`, which type checkers understand and people
do not see. So each class tells its signature with the options spelled out, and its docstring ends
with a line for each that concerns the role. Law: names, order and types are those of SocketOptions,
defaults those of the core for the role; nothing is said twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from meshmsg._binding.core import ffi, lib
from meshmsg._socket.options import OPTION_TEXTS, SocketOptions, concerns, default_of

if TYPE_CHECKING:
    from inspect import Signature

MethodT = TypeVar("MethodT", bound=Callable[..., Any])
_HEAD = "\n\nOptions, keyword-only (docs/semantics.md has all limits):\n"
_OTHERS = "Also taken, but about what other roles do: "


class _ClassSignature:
    """The class's `__signature__`, made when somebody asks."""

    def __get__(self, instance: object, owner: Any) -> Signature:
        from inspect import Parameter, signature  # costs more than all the rest of an import

        shown = signature(owner.__init__)
        fixed = [
            parameter
            for parameter in list(shown.parameters.values())[1:]
            if parameter.kind is not Parameter.VAR_KEYWORD
        ]
        defaults = defaults_of(owner)
        options = [
            Parameter(
                name,
                Parameter.KEYWORD_ONLY,
                default=defaults[name],
                annotation=getattr(kind, "__forward_arg__", kind),
            )
            for name, kind in SocketOptions.__annotations__.items()
        ]
        return shown.replace(parameters=[*fixed, *options], return_annotation=owner)


def defaults_of(role_class: Any) -> dict[str, Any]:
    """Return the value each option has in this class when it is not given."""
    opts = ffi.new("mm_socket_opts *")
    if lib.mm_socket_defaults(role_class._role, opts) < 0:
        return dict.fromkeys(SocketOptions.__annotations__)
    return {name: default_of(opts, name) for name in SocketOptions.__annotations__}


def described(form_text: str, own: str | None) -> str:
    """Join what a form says of a role and what its sync or asyncio class adds, before the Args."""
    if not own:
        return form_text
    at = form_text.find("Args:")
    if at < 0:
        return f"{form_text.rstrip()}\n\n    {own}\n"
    indent = form_text[form_text.rfind("\n", 0, at) + 1 : at]
    return f"{form_text[:at]}{own}\n\n{indent}{form_text[at:]}"


def describe(role_class: Any) -> None:
    """Give a class of a role its signature, and its docstring the options.

    Its docstring is its form's: of the class that says the role's number.
    """
    if "_role" in vars(role_class):
        return  # a form
    role_class.__signature__ = _ClassSignature()
    form = next((base for base in role_class.__bases__ if vars(base).get("_role")), None)
    text = vars(role_class).get("__doc__")
    if form is not None and form.__doc__:
        text = described(form.__doc__, text)
    if text is None or not role_class._role:  # python -OO, or a class of a user's
        return
    defaults = defaults_of(role_class)
    rows = "".join(
        f"    {name}: {words} Default: {defaults[name]!r}.\n"
        for name, words in OPTION_TEXTS.items()
        if concerns(name, role_class._role)
    )
    others = [name for name in OPTION_TEXTS if not concerns(name, role_class._role)]
    rows += f"\n{_OTHERS}{', '.join(others)}.\n" if others else ""
    role_class.__doc__ = text.rstrip() + _HEAD + rows


def verb(function: MethodT) -> MethodT:
    """Have a function be a method of several roles; help() shows it as one of the class's."""
    function.__annotations__.pop("self", None)
    return function

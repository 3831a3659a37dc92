"""The completion scripts of bash, zsh and fish, made of the pages of all commands."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence

from autochron.cli.overview import SUMMARIES
from autochron.cli.pages import CommandPage, OptionPage

_GENERAL = {"--help": "show the commands", "--version": "show the version"}
_FILES = frozenset({"FILE", "URL", "PATH", "FILE:LINE", "FILE:NAME"})
_FOLDERS = frozenset({"FOLDER", "DIR"})
_NO_FILES = frozenset({"traces list", "traces prune", "doctor", "completion", "help"})
"""The pages that take no word, or only their listed words."""

_LONG = 70
"""Most characters of a description."""


def _help_page(pages: Sequence[CommandPage]) -> CommandPage:
    names = [page.name for page in pages if " " not in page.name]
    return CommandPage("help", SUMMARIES["help"], (), "", words=(*names, "statuses"))


def _kind(option: OptionPage) -> str:
    """Return what the value of an option is: `choices`, `files`, `folders`, `other`, or empty without a value."""
    if not option.metavar:
        return ""
    if option.choices:
        return "choices"
    if option.metavar in _FOLDERS:
        return "folders"
    return "files" if option.metavar in _FILES else "other"


def _takes_traces(page: CommandPage) -> bool:
    return any("TRACE" in form.replace("[", " ").split() for form in page.usage)


def _takes_files(page: CommandPage) -> bool:
    return page.name not in _NO_FILES and not page.words and (not page.actions or page.name == "mutate")


def _short(text: str) -> str:
    """Return the beginning of a text as a description, in one line."""
    first = re.split("[:;] ", text, maxsplit=1)[0]
    return first if len(first) <= _LONG else f"{first[:_LONG].rsplit(' ', 1)[0]} ..."


def _action(page: CommandPage) -> str:
    return page.name.rpartition(" ")[2]


# --- bash ---------------------------------------------------------------------------------------------------------------

_BASH = r"""# Completion of autochron for bash, made by `autochron completion bash`.

_autochron_words() {
    local word
    for word in $1; do
        [[ $word == "$cur"* ]] && COMPREPLY+=("$word")
    done
}

_autochron_files() {
    local file
    compopt -o filenames 2>/dev/null
    while IFS= read -r file; do COMPREPLY+=("$file"); done < <(compgen "$1" -- "$cur")
}

_autochron_traces() {
    _autochron_words "$("${COMP_WORDS[0]}" completion traces 2>/dev/null)"
}

_autochron() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]} action='' at
    COMPREPLY=()
    if [[ $cur == '=' ]]; then cur=''; elif [[ $prev == '=' ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi
    if ((COMP_CWORD == 1)); then
        _autochron_words '@COMMANDS@'
        return
    fi
    for ((at = 2; at < COMP_CWORD; at++)); do
        case "$command ${COMP_WORDS[at]}" in
        @ACTIONS@)
            action=${COMP_WORDS[at]}
            break
            ;;
        run\ @VALUES@)
            [[ ${COMP_WORDS[at+1]} != '=' ]] || at=$((at + 1))
            at=$((at + 1))
            ;;
        run\ -[!-]*|run\ --?*) [[ ${COMP_WORDS[at]} != -m ]] || action=program ;;
        run\ *|replay\ --)
            action=program
            ;;
        esac
    done
    case "$command${action:+ $action}" in
@PAGES@    *' program') _autochron_files -f ;;
    esac
}

complete -F _autochron autochron
"""


def bash_script(pages: Sequence[CommandPage]) -> str:
    """Return the script of bash; 3.2 and later can read it."""
    pages = [*pages, _help_page(pages)]
    actions = [page.name for page in pages if " " in page.name]
    run = next(page for page in pages if page.name == "run")
    values = [name for option in run.options if option.metavar for name in option.names]
    return _filled(
        _BASH,
        {
            "COMMANDS": " ".join([*SUMMARIES, *_GENERAL]),
            "ACTIONS": "|".join(name.replace(" ", "\\ ") for name in actions),
            "VALUES": "|run\\ ".join(values),
            "PAGES": "".join(_bash_page(page) for page in pages),
        },
    )


def _bash_page(page: CommandPage) -> str:
    lines = [f"    {shlex.quote(page.name)})", "        case $prev in"]
    for option in page.options:
        kind = _kind(option)
        if kind:
            does = {
                "choices": f"_autochron_words '{' '.join(option.choices)}'; ",
                "files": "_autochron_files -f; ",
                "folders": "_autochron_files -d; ",
                "other": "",
            }[kind]
            lines.append(f"        {'|'.join(option.names)}) {does}return ;;")
    names = " ".join(name for option in page.options for name in option.names)
    lines += [
        "        esac",
        "        if [[ $cur == -* ]]; then",
        f"            _autochron_words '{names}'",
        "            return",
        "        fi",
    ]
    words = [*(_action(action) for action in page.actions), *page.words]
    if words:
        lines.append(f"        _autochron_words '{' '.join(words)}'")
    if _takes_traces(page) and not page.actions:
        lines.append("        _autochron_traces")
    if _takes_files(page):
        lines.append("        _autochron_files -f")
    return "\n".join([*lines, "        ;;", ""])


# --- zsh ----------------------------------------------------------------------------------------------------------------

_ZSH = r"""#compdef autochron
# Completion of autochron for zsh, made by `autochron completion zsh`.

_autochron_traces() {
    local -a names
    names=(${(f)"$(_call_program traces ${(q)words_of_autochron} completion traces 2>/dev/null)"})
    compadd -a names
}

_autochron_traces_or_files() {
    _autochron_traces
    _files
}

# Complete the words from the action on, whose place is `at`.
_autochron_rest() {
    words=("${(@)words[at,-1]}")
    ((CURRENT -= at - 1))
    $1
}

@PAGES@
_autochron() {
    local words_of_autochron=$words[1] curcontext="$curcontext" state
    _arguments -C '1: :->command' '*:: :->rest'
    case $state in
    command)
        local -a commands
        commands=(
@COMMANDS@        )
        _describe -t commands command commands -- '(--help:show\ the\ commands --version:show\ the\ version)'
        ;;
    rest)
        case $words[1] in
@CASES@        esac
        ;;
    esac
}

if [[ $funcstack[1] == _autochron ]]; then
    _autochron "$@"
else
    compdef _autochron autochron
fi
"""


def zsh_script(pages: Sequence[CommandPage]) -> str:
    """Return the script of zsh. It may be sourced, or lie in a folder of `fpath` as `_autochron`."""
    pages = [*pages, _help_page(pages)]
    tops = [page for page in pages if " " not in page.name]
    return _filled(
        _ZSH,
        {
            "PAGES": "\n".join(_zsh_page(page) for page in pages),
            "COMMANDS": "".join(
                f"            {_zsh_quoted(f'{page.name}:{_zsh_colons(page.summary)}')}\n" for page in tops
            ),
            "CASES": "".join(f"        {page.name}) {_zsh_function(page)} ;;\n" for page in tops),
        },
    )


def _zsh_function(page: CommandPage) -> str:
    return f"_autochron_{page.name.replace(' ', '_')}_page"


def _zsh_page(page: CommandPage) -> str:
    specs = [_zsh_option(option) for option in page.options]
    lines = [f"{_zsh_function(page)}() {{"]
    if page.actions:
        names = [_action(action) for action in page.actions]
        lines += [
            "    local -i at",
            "    for ((at = 2; at < CURRENT; at++)); do",
            "        case $words[at] in",
        ]
        lines += [
            f"        {name}) _autochron_rest {_zsh_function(action)}; return ;;"
            for name, action in zip(names, page.actions, strict=True)
        ]
        lines += ["        esac", "    done"]
        specs += [f"'*:action:({' '.join(names)})'" if page.name != "mutate" else "'*:INCIDENT:_files'"]
    elif page.words:
        specs.append(f"'1: :({' '.join(page.words)})'")
    elif page.name == "run":
        specs += ["'(-)1:SCRIPT:_files'", "'(-)*:ARG:_files'"]
    elif _takes_traces(page):
        specs.append("'*:TRACE:_autochron_traces_or_files'")
    elif _takes_files(page):
        specs.append("'*:FILE:_files'")
    return "\n".join(
        [
            *lines,
            "    _arguments -s \\",
            *(f"        {spec} \\" for spec in specs),
            "        && return 0",
            "}",
            "",
        ]
    )


def _zsh_option(option: OptionPage) -> str:
    text = _zsh_brackets(_short(option.text))
    value = {
        "": "",
        "choices": f":{option.metavar}:({' '.join(option.choices)})",
        "files": f":{_zsh_colons(option.metavar)}:_files",
        "folders": f":{option.metavar}:_files -/",
        "other": f":{_zsh_colons(option.metavar)}: ",
    }[_kind(option)]
    many = "*" if option.repeated else ""
    if len(option.names) == 1:
        joined = "=" if value else ""  # its value may also be joined to it
        return _zsh_quoted(f"{many}{option.names[0]}{joined}[{text}]{value}")
    names = " ".join(option.names)
    return f"'({names})'{{{','.join(option.names)}}}{_zsh_quoted(f'[{text}]{value}')}"


def _zsh_colons(text: str) -> str:
    return text.replace(":", "\\:")


def _zsh_brackets(text: str) -> str:
    return _zsh_colons(text).replace("[", "\\[").replace("]", "\\]")


def _zsh_quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


# --- fish ---------------------------------------------------------------------------------------------------------------

_FISH = r"""# Completion of autochron for fish, made by `autochron completion fish`.

function __autochron_at --argument-names command action
    set -l given (commandline -opc)
    set -e given[1]
    test (count $given) -gt 0; and test "$given[1]" = "$command"; or return 1
    set -e given[1]
    if test -n "$action"
        contains -- $action $given
        return
    end
    for other in $argv[3..]
        contains -- $other $given; and return 1
    end
    return 0
end

function __autochron_first
    test (count (commandline -opc)) -eq 1
end

function __autochron_traces
    set -l given (commandline -opc)
    $given[1] completion traces 2>/dev/null
end

complete -c autochron -f
@GENERAL@
@PAGES@"""


def fish_script(pages: Sequence[CommandPage]) -> str:
    """Return the script of fish."""
    pages = [*pages, _help_page(pages)]
    tops = [page for page in pages if " " not in page.name]
    general = [
        f"complete -c autochron -n __autochron_first -a {page.name} -d {_fish_quoted(page.summary)}"
        for page in tops
    ]
    general += [
        f"complete -c autochron -n __autochron_first -l {name[2:]} -d {_fish_quoted(text)}"
        for name, text in _GENERAL.items()
    ]
    actions = {page.name: [_action(action) for action in page.actions] for page in tops}
    return _filled(
        _FISH,
        {
            "GENERAL": "\n".join(general),
            "PAGES": "".join(f"{line}\n" for page in pages for line in _fish_page(page, actions)),
        },
    )


def _fish_page(page: CommandPage, actions: Mapping[str, Sequence[str]]) -> Iterator[str]:
    command, _, action = page.name.partition(" ")
    others = actions.get(page.name, ())
    # Without an action only the words of the command itself are completed.
    condition = f"__autochron_at {command} {action or chr(34) * 2} {' '.join(others)}".rstrip()
    start = f"complete -c autochron -n {_fish_quoted(condition)}"
    for inner in page.actions:
        yield f"{start} -a {_action(inner)} -d {_fish_quoted(inner.summary)}"
    for word in page.words:
        yield f"{start} -a {word}"
    for option in page.options:
        names = " ".join(
            f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names
        )
        value = {
            "": "",
            "choices": f" -x -a {_fish_quoted(' '.join(option.choices))}",
            "files": " -r -F",
            "folders": " -x -a '(__fish_complete_directories)'",
            "other": " -x",
        }[_kind(option)]
        yield f"{start} {names}{value} -d {_fish_quoted(_short(option.text))}"
    if _takes_traces(page) and not page.actions:
        yield f"{start} -a '(__autochron_traces)'"
    if _takes_files(page):
        yield f"{start} -F"


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


# ------------------------------------------------------------------------------------------------------------------------


def _filled(template: str, parts: Mapping[str, str]) -> str:
    for name, part in parts.items():
        template = template.replace(f"@{name}@", part)
    return template


SCRIPTS: dict[str, Callable[[Sequence[CommandPage]], str]] = {
    "bash": bash_script,
    "zsh": zsh_script,
    "fish": fish_script,
}
"""By shell: the function that makes its script."""

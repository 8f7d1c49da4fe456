"""Completion scripts for bash, zsh and fish, as text made from the command tree. Pure.

Everything is spelt out in the script, so that a press of Tab starts no Python. All three work the
same way: words before the cursor that name commands make up a chain (` config set`); the chain and
the word before the cursor say what may come.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from shard_jupyter.surfaces.cli.described_commands import DescribedArgument, DescribedCommand


def make_script(shell: str, root: DescribedCommand) -> str:
    """Return the script for one of bash, zsh, fish."""
    makers = {"bash": _make_bash, "zsh": _make_zsh, "fish": _make_fish}
    return "\n".join(makers[shell](root))


def _chain(command: DescribedCommand) -> str:
    return "".join(f" {word}" for word in command.words)


def _options(command: DescribedCommand) -> Iterator[DescribedArgument]:
    return (argument for argument in command.arguments if argument.flags)


def _positional_choices(command: DescribedCommand) -> Iterator[str]:
    for argument in command.arguments:
        if not argument.flags:
            yield from argument.choices


def _chain_cases(root: DescribedCommand, indent: str) -> Iterator[str]:
    chains = (_chain(command) for command in root.walk() if command.words)
    yield f'{indent}{" | ".join(shlex.quote(chain) for chain in chains)}) chain="$chain $word" ;;'


def _value_cases(root: DescribedCommand) -> Iterator[tuple[str, DescribedArgument]]:
    """Yield `chain:flag` patterns, quoted for a shell's `case`, of options that take a value."""
    for command in root.walk():
        for option in _options(command):
            if option.value_name:
                patterns = (shlex.quote(f"{_chain(command)}:{flag}") for flag in option.flags)
                yield " | ".join(patterns), option


def _make_bash(root: DescribedCommand) -> Iterator[str]:
    yield '# bash completion of shard. Use: eval "$(shard completion bash)"'
    yield "_shard() {"
    yield '  local current="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}"'
    yield "  local chain='' word words='' IFS=$' \\t\\n'"
    yield "  COMPREPLY=()"
    yield '  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do'
    yield '    case "$chain $word" in'
    yield from _chain_cases(root, "      ")
    yield "    esac\n  done"
    yield '  case "$chain:$before" in'
    for patterns, option in _value_cases(root):
        yield f"    {patterns}) {_bash_values(option)} return ;;"
    yield '  esac\n  case "$chain" in'
    for command in root.walk():
        names = [child.words[-1] for child in command.children]
        flags = [flag for option in _options(command) for flag in option.flags]
        words = " ".join((*names, *_positional_choices(command), *flags))
        yield f"    {shlex.quote(_chain(command))}) words={shlex.quote(words)} ;;"
    yield '  esac\n  COMPREPLY=($(compgen -W "$words" -- "$current"))\n}'
    yield "complete -F _shard shard jupyter-shard"


def _bash_values(option: DescribedArgument) -> str:
    if option.choices:
        words = shlex.quote(" ".join(option.choices))
        return f'COMPREPLY=($(compgen -W {words} -- "$current"));'
    kind = {"folder": "-d", "file": "-f"}.get(option.completes)
    if kind is None:
        return ""
    files = f'COMPREPLY=($(compgen {kind} -- "$current"))'
    return f"IFS=$'\\n'; {files}; compopt -o filenames 2>/dev/null;"


def _make_zsh(root: DescribedCommand) -> Iterator[str]:
    yield "#compdef shard jupyter-shard"
    yield '# zsh completion of shard. Use: eval "$(shard completion zsh)"'
    yield "_shard() {"
    yield "  local chain='' word\n  local -a names flags"
    yield '  for word in "${(@)words[2,CURRENT-1]}"; do'
    yield '    case "$chain $word" in'
    yield from _chain_cases(root, "      ")
    yield "    esac\n  done"
    yield '  case "$chain:${words[CURRENT-1]}" in'
    for patterns, option in _value_cases(root):
        yield f"    {patterns}) {_zsh_values(option)} return ;;"
    yield '  esac\n  case "$chain" in'
    for command in root.walk():
        names = [_zsh_entry(child.words[-1], child.text) for child in command.children]
        names += [shlex.quote(choice) for choice in _positional_choices(command)]
        flags = [
            _zsh_entry(flag, option.text) for option in _options(command) for flag in option.flags
        ]
        chain = shlex.quote(_chain(command))
        yield f"    {chain}) names=({' '.join(names)}); flags=({' '.join(flags)}) ;;"
    yield "  esac"
    yield "  (( $#names )) && _describe 'command' names"
    yield "  _describe -o 'option' flags\n}"
    yield 'if [ "$funcstack[1]" = _shard ]; then _shard; else compdef _shard shard jupyter-shard; fi'


def _zsh_entry(name: str, text: str) -> str:
    return shlex.quote(f"{name}:{text}")


def _zsh_values(option: DescribedArgument) -> str:
    if option.choices:
        return f"compadd -- {' '.join(map(shlex.quote, option.choices))};"
    return {"folder": "_files -/;", "file": "_files;"}.get(option.completes, "")


def _make_fish(root: DescribedCommand) -> Iterator[str]:
    yield "# fish completion of shard. Use: shard completion fish | source"
    yield "function __shard_at"
    yield "    set -l chain ''"
    yield "    for word in (commandline -opc)[2..-1]"
    yield '        switch "$chain $word"'
    chains = [_fish_quote(_chain(command)) for command in root.walk() if command.words]
    yield f"            case {' '.join(chains)}"
    yield '                set chain "$chain $word"'
    yield "        end\n    end"
    yield '    test "$chain" = "$argv[1]"\nend'
    yield "complete -c shard -f\ncomplete -c jupyter-shard -w shard"
    for command in root.walk():
        at = _fish_quote(f"__shard_at {_fish_quote(_chain(command))}")
        for child in command.children:
            yield f"complete -c shard -n {at} -a {child.words[-1]} -d {_fish_quote(child.text)}"
        for choice in _positional_choices(command):
            yield f"complete -c shard -n {at} -a {_fish_quote(choice)}"
        for option in _options(command):
            yield f"complete -c shard -n {at} {_fish_option(option)}"


def _fish_option(option: DescribedArgument) -> str:
    flags = [
        f"-l {flag.removeprefix('--')}" if flag.startswith("--") else f"-s {flag[1:]}"
        for flag in option.flags
    ]
    values = {"folder": "-x -a '(__fish_complete_directories)'", "file": "-r -F"}
    value = values.get(option.completes, "-x" if option.value_name else "")
    if option.choices:
        value = f"-x -a {_fish_quote(' '.join(option.choices))}"
    return " ".join(filter(None, (*flags, value, "-d", _fish_quote(option.text))))


def _fish_quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"

"""Tables of programs that tell about the machine, or about nothing but their arguments."""

from __future__ import annotations

from collections.abc import Mapping

from shard_jupyter.core.permissions.shell.tables.command_table import CommandTable

_BARE = CommandTable()
_LOOKUP = CommandTable("-a", "name*", permutes=False)

SYSTEM_FACTS: Mapping[str, CommandTable] = {
    # What these builtins do with arguments is nothing, or an error.
    "true": CommandTable(operands="text*", globs="never"),
    "false": CommandTable(operands="text*", globs="never"),
    ":": CommandTable(operands="text*", globs="never"),
    "pwd": CommandTable("-L -P --logical --physical"),
    "which": _LOOKUP,
    "type": CommandTable("-a -t -p -P -f", "name*", permutes=False),
    "uname": CommandTable(
        "-a -s -n -r -v -m -p -i -o --all --kernel-name --nodename --kernel-release "
        "--kernel-version --machine --processor --hardware-platform --operating-system"
    ),
    "arch": _BARE,
    "whoami": _BARE,
    "id": CommandTable(
        "-a -Z -z -g -G -n -r -u --context --zero --group --groups --name --real --user", "name*"
    ),
    "groups": CommandTable("", "name*"),
    # An operand would be its new name; so would a file's content.
    "hostname": CommandTable(
        "-s -I --short --all-ip-addresses -f!network -d!network -i!network -A!network "
        "--fqdn!network --long!network --domain!network --ip-address!network "
        "--all-fqdns!network -F=path!changes --file=path!changes -b!changes --boot!changes"
    ),
    "nproc": CommandTable("--all --ignore=number"),
    "uptime": CommandTable("-p -s -V -h --pretty --since"),
    "locale": CommandTable(
        "-a -m -c -k -v --all-locales --charmaps --category-name --keyword-name --verbose", "name*"
    ),
    "getconf": CommandTable("-a", "name"),
    "tty": CommandTable("-s --silent --quiet"),
    "df": CommandTable(
        "-a -B=text -h -H -i -k -l -P -T -t=text -x=text --all --block-size=text --total "
        "--human-readable --si --inodes --local --no-sync --output[=text] --portability "
        "--type=text --print-type --exclude-type=text --sync!changes",
        "path*",
    ),
    "seq": CommandTable(
        "-s=text -w --separator=text --equal-width",
        "small small small",
        globs="never",
        permutes=False,
    ),
    "free": CommandTable(
        "-b -k -m -g -h -t -w -v -l --bytes --kilo --mega --giga --human --total "
        "--wide --si -s=number!endless --seconds=number!endless"
    ),
}

"""What is known of programs that never run without a person: why not, and what they reach."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from shard_jupyter.core.permissions.shell.shell_verdict import ArgvReading
from shard_jupyter.core.permissions.shell.tables.command_table import names

Written = Literal["none", "all", "last", "but_first", "dd"]
"""Which operands are files that it changes."""


@dataclass(frozen=True)
class OutsideProgram:
    """`why_not` goes on behind the name of the program."""

    why_not: str
    writes: Written = "none"
    network: bool = False


def _rows(
    names: str, why_not: str, writes: Written = "none", *, network: bool = False
) -> dict[str, OutsideProgram]:
    return dict.fromkeys(names.split(), OutsideProgram(why_not, writes, network))


OUTSIDE: Mapping[str, OutsideProgram] = {
    **_rows("rm unlink shred", "deletes files", "all"),
    **_rows("rmdir", "deletes folders", "all"),
    **_rows("mv", "moves files", "all"),
    **_rows("cp install", "writes files", "last"),
    **_rows("ln link", "makes links", "last"),
    **_rows("touch tee truncate split csplit mkfifo mknod mktemp", "writes files", "all"),
    **_rows("mkdir", "makes folders", "all"),
    **_rows("chmod chown chgrp chattr setfacl", "changes who may use files", "but_first"),
    **_rows("dd", "writes files", "dd"),
    **_rows("tar unzip zip gzip gunzip bzip2 xz zstd 7z cpio patch", "writes files"),
    **_rows("ed ex vi vim nvim nano emacs", "is an editor, which can do anything"),
    **_rows("less more most man info", "can start other programs"),
    **_rows("yes sleep watch top htop", "does not end by itself"),
    **_rows(
        "python python2 python3 pypy pypy3 ipython node nodejs deno bun perl ruby php lua luajit "
        "awk gawk mawk nawk Rscript julia java tclsh expect gdb osascript pwsh",
        "runs code",
    ),
    **_rows("sh bash dash zsh ksh fish csh tcsh busybox", "is a shell that runs code"),
    **_rows("make gmake", "runs what the Makefile says"),
    **_rows(
        "just cmake ninja meson bazel gradle mvn ant rake tox nox invoke",
        "runs what the project says",
    ),
    **_rows("pytest py.test jest mocha rspec coverage", "runs the code of the project"),
    **_rows(
        "env xargs sudo doas su nice ionice nohup timeout time setsid stdbuf chroot unshare flock "
        "script strace ltrace parallel systemd-run bwrap taskset chrt prlimit runuser pkexec "
        "unbuffer hyperfine fd fdfind entr",
        "runs another program",
    ),
    **_rows("eval exec source . builtin command", "runs code in the shell itself"),
    **_rows(
        "export declare typeset local readonly unset alias unalias set shopt trap enable hash read "
        "mapfile readarray let getopts umask ulimit pushd popd dirs shift return break continue "
        "exit logout bind complete compgen compopt bg fg jobs disown wait history fc suspend times "
        "cd",
        "changes the state of the shell",
    ),
    **_rows("printenv ps", "may show secrets"),
    **_rows("kill pkill killall reboot shutdown halt poweroff", "ends processes"),
    **_rows(
        "mount umount systemctl service sysctl crontab at batch useradd usermod userdel passwd "
        "ip ifconfig iptables nft dmesg ss losetup mkfs fdisk parted insmod modprobe",
        "looks at or changes the system",
    ),
    **_rows(
        "curl wget http https ssh scp sftp ftp rsync telnet nc ncat netcat socat ping ping6 "
        "traceroute dig host nslookup getent whois aria2c gh hub glab aws gcloud az kubectl helm "
        "docker podman skopeo hg svn",
        "talks to the network",
        network=True,
    ),
    **_rows(
        "pip pip3 pipx uv uvx poetry pdm hatch conda mamba micromamba npm npx pnpm yarn cargo "
        "rustup go gem bundle composer apt apt-get aptitude dnf yum pacman apk brew snap flatpak "
        "nix",
        "installs software or runs code, and talks to the network",
        network=True,
    ),
    **_rows("yq", "may change the files it reads"),
}

ONLY_VERSION = names("python python3 node nodejs perl bash gcc g++ cc clang cmake make")
"""Programs that, with nothing but `--version`, only tell their version. Not among them is what
asks the project which version that is."""


def read_outside(argv: Sequence[str]) -> ArgvReading | None:
    """Return what is known; None: nothing."""
    name = argv[0]
    if re.fullmatch(r"(?:python|pypy)[0-9.]*", name):
        name = "python3"
    known = OUTSIDE.get(name)
    if known is None:
        return None
    return ArgvReading(
        why_not=f"{argv[0]} {known.why_not}",
        writes=tuple(_PICKS[known.writes](argv)),
        network=known.network,
    )


def _operands(argv: Sequence[str]) -> list[str]:
    words = list(argv[1:])
    if "--" in words:
        at = words.index("--")
        return [word for word in words[:at] if not word.startswith("-")] + words[at + 1 :]
    return [word for word in words if not word.startswith("-")]


_PICKS: Mapping[Written, Callable[[Sequence[str]], list[str]]] = {
    "none": lambda _: [],
    "all": _operands,
    "last": lambda argv: _operands(argv)[-1:],
    "but_first": lambda argv: _operands(argv)[1:],
    "dd": lambda argv: [word[3:] for word in argv if word.startswith("of=")],
}

"""What is known of programs by their names. Data only."""

from __future__ import annotations


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


SHELLS = _names("sh bash dash zsh ksh fish")

NEVER_RUN_OTHERS = _names("""
    cat echo printf ls head tail wc grep egrep fgrep mkdir rmdir touch cp mv rm ln chmod chown stat
    file du df basename dirname realpath readlink diff cmp uniq cut tr seq sleep true false test [
    [[ pwd cd date uname whoami id hostname which type md5sum sha1sum sha256sum tee
""")
"""They take their arguments for data. Any other program may run what its arguments name."""

RUN_THEIR_ARGUMENTS = SHELLS | _names("""
    env xargs find sudo doas su nice nohup timeout watch setsid exec eval command builtin source .
    parallel ssh stdbuf ionice chroot unshare trap flock script busybox strace ltrace systemd-run
    bwrap taskset chrt prlimit runuser pkexec unbuffer hyperfine
""")
"""Their arguments are a command. With expansion in them, nobody knows which."""

NEVER_GRANTED = RUN_THEIR_ARGUMENTS | _names("""
    python* pypy* perl* ruby* node* deno bun php* lua* awk gawk mawk sed make gmake cmake just rm
    rmdir dd shred truncate mkfs* pip* uv* conda mamba npm npx pnpm yarn cargo go apt* brew curl
    wget git hg svn docker podman kubectl nc ncat socat scp rsync sftp ftp telnet crontab at kill
    pkill killall chmod chown mv
""")
"""Globs over names: what runs code, and what destroys, installs or fetches."""

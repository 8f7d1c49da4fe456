"""What programs are known to do, and how that is told. Data only; nothing is decided by it."""

from __future__ import annotations


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


TALK = _names("""
    curl wget http https aria2c ssh scp sftp rsync rclone nc ncat netcat socat telnet ftp mosh ping
    dig nslookup host gh glab hub aws gcloud gsutil az kubectl helm docker podman psql mysql
    redis-cli pip pip3 pipx uv uvx poetry pdm conda mamba npm npx pnpm yarn corepack cargo go gem
    bundle composer brew apt apt-get dnf yum apk snap rustup dvc huggingface-cli hf twine svn hg
""")
"""They may talk to other machines; git only with one of `GIT_TALKS`."""

GIT_TALKS = _names("push pull fetch clone ls-remote submodule remote-update send-email lfs archive")

GIT_KNOWN = _names("""
    push pull fetch clone ls-remote add commit status log diff show branch tag checkout switch
    restore reset merge rebase stash rm mv init blame grep rev-parse ls-files describe remote config
    clean revert cherry-pick shortlog reflog
""")
"""What these do is told by their names, hooks of the repository apart."""

CHANGE_PATHS = _names("""
    rm rmdir unlink mkdir touch tee truncate shred chmod chown chgrp cp mv ln install dd
""")
"""Programs whose arguments name what they change."""

TARGET_LAST = _names("cp ln install")
"""Of them only the last argument is written."""

SKIP_FIRST = _names("chmod chown chgrp")
"""Their first argument says how, not what."""

END_OTHERS = _names("kill pkill killall")
"""They end programs, and change no file."""

MOVE = _names("cd pushd popd")

CANNOT_BE_UNDONE = _names("rm rmdir unlink shred truncate dd mkfs kill pkill killall chown chgrp")

GIT_LOSES = _names("clean rm reset checkout restore stash")
"""What was not committed may be gone after these."""

GIT_SENDS = _names("push send-email fetch clone ls-remote")

GIT_ONLY_TELLS = _names("""
    status log diff show blame grep rev-parse ls-files describe shortlog reflog
""")

ONLY_TELL = _names("""
    cat echo printf ls head tail wc grep egrep fgrep stat du df basename dirname realpath
    readlink diff cmp cut tr seq sleep true false test [ pwd cd uname whoami id which type md5sum
    sha1sum sha256sum nl od ps
""")
"""They change nothing, whatever they are given, unless a redirection does."""

MAY_BE_GONE = "Cannot be undone: what is deleted or overwritten is gone."
SENT = "Cannot be undone from here: what is sent is sent."
NOT_TOLD = "Cannot be told from its text: take it that it cannot be undone."
BY_GIT = "Only what git has: what was not committed is lost."
MADE_NEW = "Yes: what it makes is new and can be deleted."
NEW_FILE = "Yes: the file is new and can be deleted."
NOTHING = "It changes nothing."

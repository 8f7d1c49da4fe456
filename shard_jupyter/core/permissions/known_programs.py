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
    python* pypy* ipython* jupyter* perl* ruby* irb node* nodejs* deno bun ts-node tsx php* lua* R
    Rscript julia* ghc* runghc erl escript elixir scala* java jshell kotlin* dotnet swift tclsh*
    wish* expect osascript pwsh powershell cmd guile* racket sbcl clisp awk gawk mawk nawk sed ed ex
    octave* matlab* gnuplot* maxima sage* wolfram* zig mix iex crystal nim dart flutter janet clojure*
    clj bb lein groovy* raku* rust-script rlwrap
    fakeroot faketime eatmydata run0 dbus-run-session dbus-launch xvfb-run firejail cgexec numactl
    proot entr watchexec inotifywait nodemon pm2 forever honcho foreman supervisord bats act earthly
    direnv asdf mise rtx pyenv rbenv nodenv jenv nvm fnm volta sdk rye pixi
    vi vim* nvim emacs* nano less more most man gdb lldb valgrind perf ltrace
    make gmake cmake ctest ninja meson just task rake bazel* buck* scons waf mvn* gradle* ant sbt
    pip* pipx uv* conda mamba micromamba poetry pdm hatch tox nox pre-commit npm npx pnpm yarn corepack
    cargo rustup go gem bundle* composer cabal stack opam nix* guix brew port apt* dpkg* dnf yum rpm
    zypper pacman apk snap flatpak winget choco
    rm rmdir unlink dd shred truncate mkfs* wipefs fdisk parted mount umount mv chmod chown chgrp
    chattr setfacl patch rename tar bsdtar gtar cpio pax zip unzip 7z* ar gzip gunzip bzip2 xz zstd
    curl wget http https aria2c nc ncat netcat socat telnet ftp sftp scp rsync rclone ping dig
    nslookup host openssl gpg* ssh* mosh git git-* gh glab hub hg svn bzr
    docker* podman* nerdctl buildah kubectl oc helm* minikube kind terraform* tofu terragrunt
    packer ansible* pulumi vagrant aws gcloud gsutil az doctl flyctl heroku vercel netlify
    psql mysql* mariadb* sqlite* redis-cli mongo*
    systemctl service journalctl loginctl launchctl crontab at batch kill pkill killall shutdown
    reboot halt poweroff init useradd userdel usermod groupadd passwd chsh visudo
    iptables* nft ip ifconfig sysctl modprobe insmod nsenter screen tmux open xdg-open start
    declare typeset local export readonly let read mapfile readarray printf test [ unset alias
    unalias enable shopt set hash bind complete getopts wait jobs fg bg disown suspend fc cd pushd
    popd umask ulimit return exit break continue
""")
"""Globs over names: what runs code or changes the shell, and what destroys, installs or fetches."""

NEVER_WIDENED = _names("cp ln tee install touch mkdir mkfifo mknod sort split csplit")
"""They change the files that they name: always is for the exact ones."""

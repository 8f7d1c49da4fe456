"""Tables of the subcommands of git that only read. Data only.

Not in them, and so not safe: what writes a file, runs a program that a repository may name
(`--ext-diff`, `--textconv`, `--show-signature`, `--remerge-diff`, `--submodule`, `-O` of grep), or
looks outside of the repository (`--no-index`, `--contents`).
"""

from __future__ import annotations

from collections.abc import Mapping

from shard_jupyter.core.permissions.shell.tables.command_table import CommandTable

_NOT_SAFE_IN_DIFFS = (
    "--ext-diff!runs --textconv!runs --output=path!writes --submodule[=text]!submodules "
    "--ignore-submodules[=text]!submodules --no-index!elsewhere -O=path!lists --remerge-diff!runs "
)
_DIFF = (
    "-p -u --patch -s --no-patch -U=number --unified=number --raw --patch-with-raw "
    "--minimal --indent-heuristic --no-indent-heuristic --patience --histogram --anchored=text "
    "--diff-algorithm=text --stat[=text] --stat-width=number --stat-name-width=number "
    "--stat-count=number --compact-summary --numstat --shortstat --dirstat[=text] --cumulative "
    "--summary --patch-with-stat -z --name-only --name-status --color[=text] --no-color "
    "--color-moved[=text] --no-color-moved --color-moved-ws=text --word-diff[=text] "
    "--word-diff-regex=text --color-words[=text] --no-renames --check --ws-error-highlight=text "
    "--full-index --binary --abbrev[=number] --no-abbrev -B[=text] --break-rewrites[=text] "
    "-M[=text] --find-renames[=text] -C[=text] --find-copies[=text] --find-copies-harder "
    "-D --irreversible-delete -l=number --diff-filter=text -S=text -G=text --find-object=text "
    "--pickaxe-all --pickaxe-regex -R -a --text --ignore-cr-at-eol --ignore-space-at-eol -b "
    "--ignore-space-change -w --ignore-all-space --ignore-blank-lines -I=text "
    "--ignore-matching-lines=text --inter-hunk-context=number -W --function-context "
    "--no-ext-diff --no-textconv --src-prefix=text --dst-prefix=text --no-prefix "
    "--default-prefix --line-prefix=text -c --cc --relative --no-relative --exit-code -q "
) + _NOT_SAFE_IN_DIFFS

_REVISIONS = (
    "-n=number --max-count=number --skip=number --since=text --after=text --until=text "
    "--before=text --author=text --committer=text --grep=text --all-match --invert-grep -i "
    "--regexp-ignore-case --basic-regexp -E --extended-regexp -F --fixed-strings "
    "-P --perl-regexp --remove-empty --merges --no-merges --min-parents=number "
    "--max-parents=number --first-parent --not --all --branches[=text] --tags[=text] "
    "--remotes[=text] --glob=text --exclude=text --ignore-missing --cherry-mark --cherry-pick "
    "--left-only --right-only --cherry --merge --boundary --simplify-by-decoration "
    "--full-history --dense --sparse --simplify-merges --ancestry-path[=text] --show-pulls "
    "--date-order --author-date-order --topo-order --reverse --no-walk[=text] --pretty[=text] "
    "--format=text --abbrev-commit --no-abbrev-commit --oneline --encoding=text "
    "--date=text --parents --children --left-right --graph --no-graph --no-notes "
    "--show-linear-break[=text] "
    "--show-signature!runs --alternate-refs!runs --stdin!lists "
)
_LOG = (
    "-g --walk-reflogs --reflog --decorate[=text] --no-decorate --decorate-refs=text "
    "--decorate-refs-exclude=text --clear-decorations --source --mailmap --no-mailmap "
    "--use-mailmap --no-use-mailmap --full-diff --log-size --follow -L=text "
    "--relative-date --expand-tabs[=number] --no-expand-tabs --notes[=text] -m -r -t --root "
    "--diff-merges=text!runs --no-diff-merges "
)
_COLUMNS = "--column[=text] --no-column "
_REFS = (
    "--contains?text --no-contains?text --merged?text --no-merged?text --points-at=text "
    "--sort=text --format=text -i --ignore-case --color[=text] "
)


def _log(more: str = "") -> CommandTable:
    return CommandTable(
        _DIFF + _REVISIONS + _LOG + more, "path*", numbers=True, globs="never", tells=False
    )


def _table(options: str, operands: str = "path*") -> CommandTable:
    return CommandTable(options, operands, globs="never", tells=False)


_NO_DRIVERS = ("--no-ext-diff", "--no-textconv")

GIT_COMMANDS: Mapping[str, CommandTable] = {
    "status": _table(
        "-s -b -z --short --branch --show-stash --porcelain[=text] --long -u[=text] "
        "--untracked-files[=text] --ignored[=text] --ahead-behind --no-ahead-behind --renames "
        "--no-renames --find-renames[=text] -v!runs --verbose!runs "
        "--ignore-submodules[=text]!submodules " + _COLUMNS
    ),
    "log": _log(),
    "show": _log(),
    "diff": CommandTable(
        _DIFF + "--cached --staged --merge-base -1 -2 -3 -0 --base --ours --theirs --quiet "
        "--ita-invisible-in-index --ita-visible-in-index",
        "path*",
        globs="never",
        tells=False,
    ),
    "diff-tree": _log("--no-commit-id --merge-base"),
    "shortlog": CommandTable(
        _REVISIONS.replace("-n=number ", "").replace("--committer=text", "--committer=text -e")
        + "-c -n -s --numbered --summary --email --group=text -w[=text]",
        "path*",
        numbers=True,
        globs="never",
        tells=False,
    ),
    "rev-list": CommandTable(
        _REVISIONS + "--count --objects --quiet --timestamp --header --max-age=number "
        "--min-age=number --no-commit-header",
        "path*",
        numbers=True,
        globs="never",
        tells=False,
    ),
    "stash list": _log(),
    "stash show": CommandTable(
        _DIFF + "--include-untracked --only-untracked --no-include-untracked",
        "text",
        globs="never",
        tells=False,
    ),
    "branch": _table(
        "-a -r -v -l --all --remotes --verbose --list --show-current --abbrev[=number] "
        "--no-abbrev --no-color " + _COLUMNS + _REFS,
        "text*",
    ),
    "tag": _table("-l --list -n[=number] " + _COLUMNS + _REFS, "text*"),
    "remote": _table("-v --verbose", ""),
    "remote get-url": _table("--push --all", "name"),
    "rev-parse": _table(
        "--verify -q --quiet --short[=number] --abbrev-ref[=text] --symbolic "
        "--symbolic-full-name --show-toplevel --show-prefix --show-cdup --git-dir "
        "--absolute-git-dir --git-common-dir --is-inside-work-tree --is-inside-git-dir "
        "--is-bare-repository --is-shallow-repository --all --branches[=text] --tags[=text] "
        "--remotes[=text] --revs-only --no-revs --flags --no-flags --default=text "
        "--path-format=text --show-object-format[=text] "
        "--show-superproject-working-tree!submodules",
        "text*",
    ),
    "ls-files": _table(
        "-c -d -m -o -i -s -u -k -t -v -f -z --cached --deleted --modified --others --ignored "
        "--stage --directory --no-empty-directory --unmerged --killed --eol --error-unmatch "
        "-x=text --exclude=text --exclude-standard --full-name --abbrev[=number] --deduplicate "
        "--format=text --recurse-submodules!submodules -X=path!lists --exclude-from=path!lists "
        "--exclude-per-directory=text!lists"
    ),
    "ls-tree": _table(
        "-d -r -t -l -z --long --name-only --name-status --object-only --full-name --full-tree "
        "--abbrev[=number] --format=text"
    ),
    "blame": _table(
        "-L=text -b -l -t -s -e -w -f -n -p -c -M[=text] -C[=text] --root --show-stats "
        "--porcelain --line-porcelain --incremental --show-name --show-number --show-email "
        "--since=text --date=text --abbrev[=number] --first-parent --reverse --encoding=text "
        "--ignore-rev=text --color-lines --color-by-age --no-textconv --progress --no-progress "
        "--minimal --score-debug --textconv!runs --contents=path!elsewhere -S=path!lists "
        "--ignore-revs-file=path!lists"
    ),
    "describe": _table(
        "--all --tags --contains --abbrev[=number] --candidates=number --exact-match --debug "
        "--long --match=text --exclude=text --always --first-parent --dirty[=text]!writes "
        "--broken[=text]!writes",
        "text*",
    ),
    "grep": CommandTable(
        "-a -i -I -w -v -h -H -E -F -G -P -n -l -L -z -o -c -p -q -r -W -e=text -m=number "
        "-A=number -B=number -C=number --cached --untracked --no-exclude-standard "
        "--exclude-standard --text --ignore-case --word-regexp --invert-match --full-name "
        "--extended-regexp --basic-regexp --fixed-strings --perl-regexp --line-number --column "
        "--files-with-matches --name-only --files-without-match --null --only-matching --count "
        "--color[=text] --no-color --break --heading --show-function --function-context "
        "--max-count=number --max-depth=number --recursive --no-recursive --threads=number "
        "--and --or --not --all-match --quiet --after-context=number --before-context=number "
        "--context=number --no-textconv --textconv!runs -O[=text]!runs "
        "--open-files-in-pager[=text]!runs --recurse-submodules!submodules --no-index!elsewhere "
        "-f=path!lists",
        "text path*",
        instead="-e",
        numbers=True,
        globs="never",
        tells=False,
    ),
    "cat-file": _table("-p -t -s -e --filters!runs --textconv!runs", "path"),
    "name-rev": _table(
        "--tags --all --name-only --refs=text --exclude=text --no-undefined --undefined --always",
        "text*",
    ),
    "merge-base": _table("-a --all --octopus --independent --is-ancestor --fork-point", "text*"),
    "show-ref": _table(
        "--heads --branches --tags -d --dereference -s --hash[=number] --verify "
        "--abbrev[=number] -q --quiet --head --exists",
        "text*",
    ),
    "for-each-ref": _table(
        "--count=number --shell --perl --python --tcl --exclude=text --omit-empty "
        "--include-root-refs " + _REFS,
        "text*",
    ),
    "count-objects": _table("-v -H --verbose --human-readable", ""),
    "check-ignore": _table("-q -v -z -n --quiet --verbose --non-matching --no-index"),
    "version": _table("--build-options", ""),
}
"""By the words behind `git`."""

GIT_ADDS: Mapping[str, tuple[str, ...]] = {
    "status": ("--ignore-submodules=all",),
    "diff": (*_NO_DRIVERS, "--ignore-submodules=all"),
    "log": _NO_DRIVERS,
    "show": _NO_DRIVERS,
    "diff-tree": _NO_DRIVERS,
    "stash list": _NO_DRIVERS,
    "stash show": _NO_DRIVERS,
    "blame": ("--no-textconv",),
    "grep": ("--no-textconv",),
}
"""What must be said so that a repository's own programs do not run."""

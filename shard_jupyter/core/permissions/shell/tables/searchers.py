"""Tables of programs that look into folders. Data only."""

from __future__ import annotations

from collections.abc import Mapping

from shard_jupyter.core.permissions.shell.tables.command_table import CommandTable

GREP = CommandTable(
    "-a -b -c -E -F -G -P -h -H -i -y -I -l -L -n -o -q -s -T -u -U -v -w -x -z -Z -r "
    "-A=number -B=number -C=number -e=text -f=path -m=number --text --byte-offset --count "
    "--extended-regexp --fixed-strings --basic-regexp --perl-regexp --no-filename "
    "--with-filename --ignore-case --no-ignore-case --files-with-matches "
    "--files-without-match --line-number --only-matching --quiet --silent --no-messages "
    "--initial-tab --binary --invert-match --word-regexp --line-regexp --null-data --null "
    "--recursive --after-context=number --before-context=number --context=number "
    "--regexp=text --file=path --max-count=number --color[=text] --colour[=text] "
    "--label=text --line-buffered --binary-files=text --include=text --exclude=text "
    "--exclude-dir=text --exclude-from=path --no-group-separator --group-separator=text "
    "-R!follows --dereference-recursive!follows -d=text!devices --directories=text!devices "
    "-D=text!devices --devices=text!devices",
    "text path*",
    instead="-e -f --regexp --file",
    numbers=True,
    below="-r --recursive",
    default_below=".",
    adds=("--exclude-dir=.git",),  # its configuration may hold passwords
)

RG = CommandTable(
    "-A=number -B=number -C=number -E=text -F -g=text -e=text -f=path -i -s -S -H -I -j=number "
    "-l -m=number -M=number -n -N -o -p -q -r=text -t=text -T=text -u -U -v -V -w -x -a -b -c "
    "-0 -d=number -. -P "
    "--after-context=number --before-context=number --context=number --auto-hybrid-regex "
    "--binary --block-buffered --byte-offset --case-sensitive --color=text --colors=text "
    "--column --no-column --context-separator=text --no-context-separator --count "
    "--count-matches --crlf --debug --dfa-size-limit=text --encoding=text --engine=text "
    "--field-context-separator=text --field-match-separator=text --file=path --files "
    "--files-with-matches --files-without-match --fixed-strings --glob=text "
    "--glob-case-insensitive --heading --no-heading --hidden --no-hidden --iglob=text "
    "--ignore-case --include-zero --invert-match --json --line-buffered --line-number "
    "--no-line-number --line-regexp --max-columns=number --max-columns-preview "
    "--max-count=number --max-depth=number --max-filesize=text --mmap --no-mmap --multiline "
    "--multiline-dotall --no-config --no-ignore --no-ignore-dot --no-ignore-exclude "
    "--no-ignore-files --no-ignore-global --no-ignore-messages --no-ignore-parent "
    "--no-ignore-vcs --no-messages --no-require-git --no-unicode --null --null-data "
    "--one-file-system --only-matching --passthru --path-separator=text --pcre2 "
    "--pcre2-version --pretty --quiet --regex-size-limit=text --regexp=text --replace=text "
    "--smart-case --sort=text --sortr=text --stats --stop-on-nonmatch --text --threads=number "
    "--trim --type=text --type-not=text --type-list --type-add=text --type-clear=text "
    "--unrestricted --vimgrep --with-filename --no-filename --word-regexp --no-follow "
    "--no-search-zip --no-pre "
    "--pre=path!runs --pre-glob=text!runs -z!runs --search-zip!runs "
    "--hostname-bin=path!runs -L!follows --follow!follows --ignore-file=path!lists "
    "--generate=text!elsewhere --hyperlink-format=text!runs",
    "text path*",
    instead="-e -f --regexp --file --files --type-list --pcre2-version -V",
    below="always",
    default_below=".",
)

# In folders it would follow links, without the option that is added.
DIFF = CommandTable(
    "-a -b -B -c -d -e -E -i -n -N -p -P -q -r -s -t -T -u -w -y -Z -C=number -U=number "
    "-F=text -I=text -L=text -W=small -x=text --normal --brief --report-identical-files "
    "--context[=number] --unified[=number] --ed --rcs --side-by-side --width=small "
    "--left-column --suppress-common-lines --show-c-function --show-function-line=text "
    "--label=text --expand-tabs --initial-tab --tabsize=small --suppress-blank-empty "
    "--recursive --no-dereference --new-file --unidirectional-new-file --ignore-file-name-case "
    "--no-ignore-file-name-case --exclude=text --ignore-case --ignore-tab-expansion "
    "--ignore-trailing-space --ignore-space-change --ignore-all-space --ignore-blank-lines "
    "--ignore-matching-lines=text --text --strip-trailing-cr --minimal "
    "--speed-large-files --color[=text] --horizon-lines=number "
    "-l!runs --paginate!runs -X=path!lists --exclude-from=path!lists "
    "--from-file=path!lists --to-file=path!lists -S=text!lists --starting-file=text!lists",
    "path path",
    below="always",
    globs="never",
    adds=("--no-dereference",),
)

SEARCHERS: Mapping[str, CommandTable] = {
    "ls": CommandTable(
        "-a -A -b -B -c -C -d -f -F -g -G -h -i -k -l -m -n -N -o -p -q -Q -r -R -s -S -t -u -U "
        "-v -x -X -Z -1 --all --almost-all --author --escape "
        "--block-size=text --ignore-backups --color[=text] --directory --classify[=text] "
        "--file-type --format=text --full-time --group-directories-first --no-group "
        "--human-readable --si --hide=text --hyperlink[=text] --indicator-style=text --inode "
        "--ignore=text --kibibytes --numeric-uid-gid --literal --hide-control-chars "
        "--show-control-chars --quote-name --quoting-style=text --reverse --recursive --size "
        "--sort=text --time=text --time-style=text --tabsize=number --width=number --context "
        "--zero -L!follows --dereference!follows -H!follows --dereference-command-line!follows "
        "--dereference-command-line-symlink-to-dir!follows",
        "path*",
        below="-R --recursive",
        default=".",
        default_below=".",
        globs="anywhere",
    ),
    "tree": CommandTable(
        "-a -d -f -i -q -N -Q -p -u -g -s -h -D -F -v -t -c -U -r -x -A -S -n -C -X -J "
        "-L=number -P=text -I=text --noreport --charset=text --filelimit=number --si --du "
        "--timefmt=text --inodes --device --prune --dirsfirst --filesfirst --sort=text "
        "--matchdirs --ignore-case --metafirst --gitignore --nolinks --hintro=path!elsewhere "
        "--houtro=path!elsewhere -l!follows -o=path!writes -R!writes -H=text!writes "
        "--fromfile!lists --fromtabfile!lists --gitfile=path!elsewhere "
        "--infofile=path!elsewhere --info!elsewhere",
        "path*",
        below="always",
        default_below=".",
        glues=False,
    ),
    "du": CommandTable(
        "-0 -a -b -B=text -c -d=number -h -k -l -m -P -s -S -t=number -x --null --all "
        "--apparent-size --bytes --block-size=text --total --max-depth=number --human-readable "
        "--inodes --count-links --no-dereference --separate-dirs --si --summarize "
        "--threshold=number --time[=text] --time-style=text --exclude=text --one-file-system "
        "-X=path!lists --exclude-from=path!lists --files0-from=path!lists -L!follows "
        "--dereference!follows -D!follows -H!follows --dereference-args!follows",
        "path*",
        below="always",
        default_below=".",
    ),
    "diff": DIFF,
    "grep": GREP,
    "egrep": GREP,
    "fgrep": GREP,
    "rg": RG,
}

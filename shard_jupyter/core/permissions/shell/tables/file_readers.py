"""Tables of programs that read the files they are given, and do nothing else. Data only."""

from __future__ import annotations

from collections.abc import Mapping

from shard_jupyter.core.permissions.shell.tables.command_table import CommandTable

_CHECKSUM = CommandTable(
    "-b -t -z -w -c!lists --binary --text --zero --tag --warn --check!lists --status --quiet "
    "--strict --ignore-missing",
    "path*",
    globs="anywhere",
)
_DISPLAY = CommandTable(
    "-b -c -C -d -o -v -x -n=number -s=number -f=path!script --canonical "
    "--one-byte-octal --one-byte-char --two-bytes-decimal --two-bytes-octal --no-squeezing --two-bytes-hex "
    "--length=number --skip=number --format-file=path!script",
    "path*",
    globs="anywhere",
)

FILE_READERS: Mapping[str, CommandTable] = {
    "cat": CommandTable(
        "-A -b -e -E -n -s -t -T -u -v --show-all --number-nonblank --show-ends --number "
        "--squeeze-blank --show-tabs --show-nonprinting",
        "path*",
        globs="anywhere",
    ),
    "tac": CommandTable("-b -r -s=text --before --regex --separator=text", "path*"),
    "rev": CommandTable("-0 --zero", "path*"),
    "head": CommandTable(
        "-c=number -n=number -q -v -z --bytes=number --lines=number --quiet --silent --verbose "
        "--zero-terminated",
        "path*",
        numbers=True,
        globs="anywhere",
    ),
    "tail": CommandTable(
        "-c=number -n=number -q -v -z --bytes=number --lines=number --quiet --silent --verbose "
        "--zero-terminated -f!endless -F!endless --follow[=text]!endless --retry!endless "
        "--pid=number!endless -s=number!endless --sleep-interval=number!endless",
        "path*",
        numbers=True,
        never="+",  # an old way to say from which line, and with `f` to follow
    ),
    "wc": CommandTable(
        "-c -m -l -L -w --bytes --chars --lines --max-line-length --words --total=text "
        "--files0-from=path!lists",
        "path*",
        globs="anywhere",
    ),
    "nl": CommandTable(
        "-b=text -d=text -f=text -h=text -i=number -l=number -n=text -p -s=text -v=number "
        "-w=small --body-numbering=text --section-delimiter=text --footer-numbering=text "
        "--header-numbering=text --line-increment=number --join-blank-lines=number "
        "--number-format=text --no-renumber --number-separator=text "
        "--starting-line-number=number --number-width=small",
        "path*",
    ),
    "od": CommandTable(
        "-a -b -c -d -f -i -l -o -s -v -x -A=text -j=number -N=number -S=number -t=text "
        "-w[=small] --address-radix=text --skip-bytes=number --read-bytes=number "
        "--strings[=number] --format=text --output-duplicates --width[=small] --endian=text",
        "path*",
    ),
    # It has no grouped options, and takes what follows the first operand for a file to write.
    "xxd": CommandTable(
        "-a -b -c=number -cols=number -d -e -E -g=number -groupsize=number -h -i -l=number "
        "-len=number -o=number -p -ps -plain -postscript -s=number -seek=number -u -v "
        "-r!writes -revert!writes",
        "path",
        globs="never",
        permutes=False,
        groups=False,
    ),
    "hexdump": _DISPLAY,
    "hd": _DISPLAY,
    # A word that starts with @ names a file of more options.
    "strings": CommandTable(
        "-a -f -w -n=number -t=text -o -e=text -s=text -U=text --all --print-file-name "
        "--include-all-whitespace --bytes=number --radix=text --encoding=text "
        "--output-separator=text --unicode=text",
        "path*",
        numbers=True,
        never="@",
    ),
    "cut": CommandTable(
        "-b=text -c=text -d=text -f=text -n -s -z --bytes=text --characters=text "
        "--delimiter=text --fields=text --complement --only-delimited --output-delimiter=text "
        "--zero-terminated",
        "path*",
    ),
    "paste": CommandTable("-d=text -s -z --delimiters=text --serial --zero-terminated", "path*"),
    "tr": CommandTable(
        "-c -C -d -s -t --complement --delete --squeeze-repeats --truncate-set1",
        "text text",
        globs="never",
        permutes=False,
    ),
    "sort": CommandTable(
        "-b -d -f -g -h -i -M -n -r -R -V -u -c -C -m -s -z -k=text -t=text "
        "--ignore-leading-blanks --dictionary-order --ignore-case --general-numeric-sort "
        "--human-numeric-sort --ignore-nonprinting --month-sort --numeric-sort --reverse "
        "--random-sort --version-sort --unique --check[=text] --merge --stable "
        "--zero-terminated --key=text --field-separator=text --sort=text --debug "
        "-o=path!writes --output=path!writes -T=path!writes --temporary-directory=path!writes "
        "--compress-program=text!runs --files0-from=path!lists --random-source=path!elsewhere",
        "path*",
    ),
    # Its second operand is the file that it writes.
    "uniq": CommandTable(
        "-c -d -D -i -u -z -f=number -s=number -w=number --count --repeated --unique "
        "--ignore-case --zero-terminated --skip-fields=number --skip-chars=number "
        "--check-chars=number --all-repeated[=text] --group[=text]",
        "path",
        globs="never",
    ),
    "comm": CommandTable(
        "-1 -2 -3 -z --check-order --nocheck-order --output-delimiter=text --total "
        "--zero-terminated",
        "path path",
        globs="never",
    ),
    "join": CommandTable(
        "-a=number -e=text -i -j=number -1=number -2=number -o=text -t=text -v=number -z "
        "--check-order --nocheck-order --header --ignore-case --zero-terminated",
        "path path",
        globs="never",
    ),
    "fold": CommandTable("-b -s -w=number --bytes --spaces --width=number", "path*", numbers=True),
    "expand": CommandTable("-i -t=text --initial --tabs=text", "path*", numbers=True),
    "unexpand": CommandTable("-a -t=text --all --first-only --tabs=text", "path*"),
    "fmt": CommandTable(
        "-c -s -t -u -p=text -w=number -g=number --crown-margin --split-only --tagged-paragraph "
        "--uniform-spacing --prefix=text --width=number --goal=number",
        "path*",
        numbers=True,
    ),
    "column": CommandTable(
        "-t -x -J -L -c=small -s=text -o=text -N=text -R=text -T=text -H=text -O=text -W=text "
        "-E=text --table --fillrows --json --keep-empty-lines --output-width=small "
        "--separator=text --output-separator=text --table-columns=text --table-right=text "
        "--table-truncate=text --table-hide=text --table-order=text --table-wrap=text "
        "--table-noextreme=text --table-noheadings --table-name=text",
        "path*",
    ),
    "cmp": CommandTable(
        "-b -l -s -i=text -n=number --print-bytes --verbose --quiet --silent "
        "--ignore-initial=text --bytes=number",
        "path path number number",
        globs="never",
    ),
    "md5sum": _CHECKSUM,
    "sha1sum": _CHECKSUM,
    "sha224sum": _CHECKSUM,
    "sha256sum": _CHECKSUM,
    "sha384sum": _CHECKSUM,
    "sha512sum": _CHECKSUM,
    "b2sum": CommandTable(f"{_CHECKSUM.options} -l=number --length=number", "path*"),
    "cksum": CommandTable(
        "-a=text --algorithm=text --untagged --tag --raw --base64 -z --zero -l=number "
        "--length=number -c!lists --check!lists",
        "path*",
    ),
    "sum": CommandTable("-r -s --sysv", "path*", globs="anywhere"),
    "stat": CommandTable(
        "-L -f -t -c=text --dereference --file-system --terse --format=text --printf=text "
        "--cached=text",
        "path*",
        globs="anywhere",
    ),
    "file": CommandTable(
        "-b -h -i -k -L -N -n -r -v -0 -e=text -F=text -E -l --brief --no-dereference --mime "
        "--mime-type --mime-encoding --apple --extension --keep-going --dereference --no-pad "
        "--no-buffer --raw --print0 --exclude=text --separator=text --exclude-quiet=text "
        "-C!writes --compile!writes -m=path!script --magic-file=path!script "
        "-f=path!lists --files-from=path!lists -z!runs --uncompress!runs -Z!runs "
        "--uncompress-noreport!runs -s!devices --special-files!devices -p!changes "
        "--preserve-date!changes -S!runs --no-sandbox!runs",
        "path*",
    ),
    "basename": CommandTable(
        "-a -s=text -z --multiple --suffix=text --zero", "text*", permutes=False
    ),
    "dirname": CommandTable("-z --zero", "text*", permutes=False),
    "realpath": CommandTable(
        "-e -m -L -P -q -s -z --canonicalize-existing --canonicalize-missing --logical "
        "--physical --quiet --strip --no-symlinks --zero --relative-to=path "
        "--relative-base=path",
        "path*",
    ),
    "readlink": CommandTable(
        "-e -f -m -n -q -s -v -z --canonicalize --canonicalize-existing "
        "--canonicalize-missing --no-newline --quiet --silent --verbose --zero",
        "path*",
    ),
}

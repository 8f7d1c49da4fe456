"""Locks itself in, then becomes the command. Run as `python -I -S -E -X utf8 -c SOURCE ...`.

Not a module of ours: it sees the standard library only, and little of that, because every command
waits for it. Its text is held in memory by whoever starts it, so that no command can change it.

    f=HEX       the seccomp filter; left out: none
    a=0 | a=1   with Landlock, with 1 and the network closed also to Landlock
    w=PATH      below it everything may be done
    r=PATH      below it files may be read and run
    d=PATH      a device or file that may be read and written
    s=PATH      in it files may be made, used and removed by who knows their names: not listed
    l=VALUE     LC_CTYPE of the command, which Python may have changed; left out: it has none
    h=PATH      not to be reached, though it lies below one of those
    -- PROGRAM ARGUMENTS...

Whatever cannot be applied ends it with 125 and a text: the command never runs unconfined.
"""

from __future__ import annotations

# What is built in, where the usual modules (`os`, `ctypes`, `struct`) would double the time.
import _ctypes
import _signal  # type: ignore[import-not-found]
import posix
import sys
from _stat import S_ISDIR, S_ISLNK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

FAILED = 125
NOT_FOUND = 127
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
REMOVE_FILE, MAKE_FILE = 1 << 5, 1 << 8
MAKE_DEVICES = (1 << 6) | (1 << 11)
TRUNCATE, IOCTL_DEVICE = 1 << 14, 1 << 15
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEVICE
FIRST_BITS = {1: 13, 2: 14, 3: 15, 4: 15}
"""How many rights of the file system each ABI knows; later ones 16."""

KEPT_CAPABILITIES = sum(1 << number for number in (0, 1, 3, 4, 6, 7))
"""What root needs to unpack and install: CHOWN, DAC_OVERRIDE, FOWNER, FSETID, SETGID, SETUID. One
that may look at how programs perform could read the environment of any process, Landlock or not."""


THIS_PROGRAM = _ctypes.dlopen(None, 0)  # type: ignore[arg-type]


class Long(_ctypes._SimpleCData):  # type: ignore[type-arg]  # noqa: SLF001 - as `ctypes.c_long`
    _type_ = "l"


class Int(_ctypes._SimpleCData):  # type: ignore[type-arg]  # noqa: SLF001 - as `ctypes.c_int`
    _type_ = "i"


class Char(_ctypes._SimpleCData):  # type: ignore[type-arg]  # noqa: SLF001 - as `ctypes.c_char`
    _type_ = "c"


class Function(_ctypes.CFuncPtr):
    """One of the C library's. It reads its integers as `Long`, and an error is an `Int`: -1."""

    _flags_ = _ctypes.FUNCFLAG_CDECL | _ctypes.FUNCFLAG_USE_ERRNO
    _restype_ = Int


def main(arguments: list[str]) -> NoReturn:
    end = arguments.index("--")
    options = [(word[0], word[2:]) for word in arguments[:end]]
    for number in (_signal.SIGPIPE, _signal.SIGXFSZ):  # Python ignores them, and exec keeps that
        _signal.signal(number, _signal.SIG_DFL)
    check(control(1, 9), "PR_SET_PDEATHSIG")
    check(control(38, 1), "PR_SET_NO_NEW_PRIVS")
    of_kind = {kind: [value for key, value in options if key == kind] for kind in "fawrdshl"}
    if of_kind["a"]:
        drop_capabilities()
        restrict(of_kind, closes_network=of_kind["a"] == ["1"])
    if of_kind["f"]:
        apply_filter(bytes.fromhex(of_kind["f"][0]))
    environment = dict(posix.environ)
    environment.pop(b"LC_CTYPE", None)
    if of_kind["l"]:
        environment[b"LC_CTYPE"] = of_kind["l"][0].encode("utf-8", "surrogateescape")
    become(arguments[end + 1 :], environment)


def become(command: list[str], environment: dict[bytes, bytes]) -> NoReturn:
    """Look along PATH as `os.execvpe` does."""
    name = command[0]
    told: str | None = ""
    path = environment.get(b"PATH", b"/bin:/usr/bin").decode("utf-8", "surrogateescape")
    for folder in path.split(":") if "/" not in name else [""]:
        try:
            posix.execve(f"{folder}/{name}" if folder else name, command, environment)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            told = told or error.strerror
    stop(f"{name}: {told or 'No such file or directory'}", NOT_FOUND)


def stop(text: str, code: int = FAILED) -> NoReturn:
    posix.write(2, f"shard: {text}\n".encode("utf-8", "surrogateescape"))
    posix._exit(code)  # noqa: SLF001 - public as `os._exit`


def check(result: int, what: str) -> int:
    if result < 0:
        stop(f"the sandbox cannot be applied: {what}: {posix.strerror(_ctypes.get_errno())}")
    return result


def find_function(name: str) -> Function:
    return Function(_ctypes.dlsym(THIS_PROGRAM, name))


SYSTEM_CALL = find_function("syscall")


def call(number: int, *arguments: bytes | int | None) -> int:
    words = [Long(word) if isinstance(word, int) else word for word in arguments]
    return int(SYSTEM_CALL(Long(number), *words))


def control(option: int, first: int, second: bytes | int = 0) -> int:
    words = [Long(word) if isinstance(word, int) else word for word in (first, second, 0, 0)]
    return int(find_function("prctl")(Long(option), *words))


def hold(data: bytes) -> Any:  # noqa: ANN401 - its type is made in it
    """Return memory with an address, as long as `data`."""
    kind = type("Buffer", (_ctypes.Array,), {"_length_": len(data), "_type_": Char})
    held = kind()
    held.raw = data
    return held


def pack(*numbers: int, size: int = 8) -> bytes:
    return b"".join(number.to_bytes(size, sys.byteorder) for number in numbers)


def drop_capabilities() -> None:
    """Without new privileges, which are off by then, no exec brings them back."""
    head = pack(0x20080522, 0, size=4)
    held = hold(bytes(24))
    check(int(find_function("capget")(head, held)), "capget")
    raw = held.raw
    masks = [int.from_bytes(raw[at : at + 4], sys.byteorder) for at in (0, 4, 8)]
    kept = pack(*(mask & KEPT_CAPABILITIES for mask in masks), 0, 0, 0, size=4)
    check(int(find_function("capset")(head, kept)), "capset")


def restrict(of_kind: dict[str, list[str]], *, closes_network: bool) -> None:
    version = check(call(444, None, 0, 1), "Landlock")
    every = (1 << FIRST_BITS.get(version, 16)) - 1
    network = 3 if closes_network and version >= 4 else 0
    # Signals and abstract sockets out of here are closed from ABI 6 on.
    size = 8 if version < 4 else 16 if version < 6 else 24
    attribute = pack(every, network, 3)[:size]
    rules = check(call(444, attribute, size, 0), "rules")
    hidden = [path for path in of_kind["h"] if exists(path)]
    for path in of_kind["r"]:
        grant(rules, path, EXECUTE | READ_FILE | READ_DIR, hidden)
    for path in of_kind["w"]:
        grant(rules, path, every & ~MAKE_DEVICES & ~IOCTL_DEVICE, hidden)
    for path in of_kind["d"]:
        grant(rules, path, (READ_FILE | WRITE_FILE | TRUNCATE | IOCTL_DEVICE) & every, hidden)
    for path in of_kind["s"]:
        shared = READ_FILE | WRITE_FILE | TRUNCATE | MAKE_FILE | REMOVE_FILE
        grant(rules, path, shared & every, hidden)
    check(call(446, rules, 0), "landlock_restrict_self")
    posix.close(rules)


def exists(path: str) -> bool:
    try:
        posix.lstat(path)
    except (OSError, ValueError):
        return False
    return True


def grant(rules: int, path: str, access: int, hidden: list[str]) -> None:
    try:
        descriptor = posix.open(path, posix.O_PATH | posix.O_CLOEXEC)
    except OSError:  # not there, so nothing of it can be granted
        return
    grant_below(rules, descriptor, path, access, hidden)


def grant_below(rules: int, descriptor: int, path: str, access: int, hidden: list[str]) -> None:
    """Grant what lies below; around a hidden part entry by entry: rules only add up.

    Goes by descriptors and follows no link: what lies in a workspace may be swapped meanwhile.
    Closes the descriptor.
    """
    inner = path.rstrip("/") + "/"
    below = [other for other in hidden if other.startswith(inner)]
    kind = posix.fstat(descriptor).st_mode
    if path not in hidden and not S_ISLNK(kind):
        given = READ_DIR if below else access
        add_rule(rules, descriptor, path, given if S_ISDIR(kind) else given & OF_FILES)
        for name in list_folder(descriptor) if below and S_ISDIR(kind) else ():
            try:
                child = posix.open(
                    name, posix.O_PATH | posix.O_CLOEXEC | posix.O_NOFOLLOW, dir_fd=descriptor
                )
            except OSError:
                continue
            grant_below(rules, child, inner + name, access, below)
    posix.close(descriptor)


def list_folder(descriptor: int) -> list[str]:
    try:
        opened = posix.open(".", posix.O_RDONLY | posix.O_CLOEXEC, dir_fd=descriptor)
    except OSError:
        return []
    names = posix.listdir(opened)
    posix.close(opened)
    return names


def add_rule(rules: int, descriptor: int, path: str, access: int) -> None:
    if access:
        rule = pack(access) + pack(descriptor, size=4)
        check(call(445, rules, 1, rule, 0), path)


def apply_filter(program: bytes) -> None:
    held = hold(program)
    head = pack(len(program) // 8, _ctypes.addressof(held))  # the length is a short, then a gap
    check(control(22, 2, head), "seccomp")


if __name__ == "__main__":
    main(sys.argv[1:])

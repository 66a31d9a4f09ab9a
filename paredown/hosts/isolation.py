"""Shuts the process that calls it in: limits, namespaces, Landlock and seccomp, as far as the machine lets it.

For a process that is about to run code which nobody has read. Standard library only, nothing of paredown: it is loaded
by path into a bare interpreter. Nothing here is undone; every step may fail with OSError, and what then holds is to be
looked at from inside (`observed`), never taken on trust.

Sources: namespaces(7), landlock(7), seccomp(2), the kernel's uapi headers for x86_64 and aarch64.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import resource
import socket
import struct
import sys
from collections.abc import Mapping, Sequence

# ── limits ───────────────────────────────────────────────────────────────────────────────────────────────────────


def limit(cpu_s: int, memory_bytes: int, file_bytes: int) -> None:
    """Of this process and each that it starts: processor time, address space, the size of a file, open files."""
    for what, most, last in (
        # At the first one a signal that says what it was, a second later the end.
        (resource.RLIMIT_CPU, cpu_s, cpu_s + 1),
        (resource.RLIMIT_AS, memory_bytes, memory_bytes),
        (resource.RLIMIT_FSIZE, file_bytes, file_bytes),
        (resource.RLIMIT_NOFILE, 64, 64),
        (resource.RLIMIT_CORE, 0, 0),
    ):
        _, hard = resource.getrlimit(what)
        highest = last if hard == resource.RLIM_INFINITY else min(last, hard)
        resource.setrlimit(what, (min(most, highest), highest))


def limit_processes(most: int) -> None:
    """Processes of this user at once; the kernel does not hold its own root user to it."""
    resource.setrlimit(resource.RLIMIT_NPROC, (most, most))


# ── system calls that Python has no name for ─────────────────────────────────────────────────────────────────────

PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP = 4, 38, 22
SECCOMP_MODE_FILTER = 2


def _libc() -> ctypes.CDLL:
    if sys.platform != "linux":
        raise OSError(f"there is no such protection on {sys.platform}")
    return ctypes.CDLL(None, use_errno=True)


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def _prctl(option: int, value: int, what: str, more: int = 0) -> None:
    _checked(_libc().prctl(option, ctypes.c_ulong(value), ctypes.c_ulong(more), 0, 0), what)


def hide_memory() -> None:
    """No process of the same user may look into this one, or write into its memory."""
    _prctl(PR_SET_DUMPABLE, 0, "prctl(PR_SET_DUMPABLE)")


def no_new_privileges() -> None:
    """Programs that are set to run as root do not; needed before Landlock and seccomp."""
    _prctl(PR_SET_NO_NEW_PRIVS, 1, "prctl(PR_SET_NO_NEW_PRIVS)")


def drop_capabilities() -> None:
    """Give up what root, in a namespace or outside, may do beyond others."""
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    nothing = (ctypes.c_uint32 * 6)()
    _checked(_libc().capset(header, nothing), "capset")


# ── namespaces ───────────────────────────────────────────────────────────────────────────────────────────────────

CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWNET = 0x00020000, 0x08000000, 0x10000000, 0x40000000
MS_NOSUID, MS_NODEV, MS_REC, MS_PRIVATE = 2, 4, 0x4000, 1 << 18


def leave_network() -> None:
    """A network of its own, without a way out and with loopback down; System V and POSIX message queues likewise."""
    user, group = os.geteuid(), os.getegid()
    _checked(_libc().unshare(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWNS), "unshare")
    for path, text in (
        ("/proc/self/setgroups", "deny"),
        ("/proc/self/uid_map", f"{user} {user} 1"),
        ("/proc/self/gid_map", f"{group} {group} 1"),
    ):
        with open(path, "w", encoding="ascii") as file:  # noqa: PTH123  loaded into a bare interpreter
            file.write(text)


def small_disk(directory: str, size_bytes: int) -> None:
    """An empty file system in memory over `directory`; after `leave_network`. The caller must enter it anew."""
    libc = _libc()
    _checked(libc.mount(b"none", b"/", None, ctypes.c_ulong(MS_REC | MS_PRIVATE), None), "mount")
    options = f"size={size_bytes},nr_inodes=1000,mode=0700".encode()
    flags = ctypes.c_ulong(MS_NOSUID | MS_NODEV)
    _checked(libc.mount(b"tmpfs", os.fsencode(directory), b"tmpfs", flags, options), "mount of tmpfs")


# ── Landlock ─────────────────────────────────────────────────────────────────────────────────────────────────────

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
RULESET_VERSION, RULE_PATH_BENEATH = 1, 1
READ_FILE, READ_DIRECTORY, EXECUTE = 1 << 2, 1 << 3, 1 << 0
# Of each version of Landlock: how many rights over files it knows.
RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
FILE_RIGHTS = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 14 | 1 << 15
BIND_AND_CONNECT_TCP, ABSTRACT_SOCKETS_AND_SIGNALS = 3, 3


def restrict_files(readable: Sequence[str], writable: str) -> None:
    """Nothing outside `readable` and `writable` can be opened, nothing outside `writable` changed. Needs Linux 5.13.

    Where the version knows it: no TCP, no signal and no abstract socket to a process outside.
    """
    libc = _libc()
    version = _checked(libc.syscall(CREATE_RULESET, None, ctypes.c_size_t(0), RULESET_VERSION), "Landlock")
    handled = (1 << RIGHTS.get(version, 16)) - 1
    fields = [handled]
    if version >= 4:
        fields.append(BIND_AND_CONNECT_TCP)
    if version >= 6:
        fields.append(ABSTRACT_SOCKETS_AND_SIGNALS)
    attributes = struct.pack(f"={len(fields)}Q", *fields)
    rules = _checked(libc.syscall(CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0), "Landlock")
    for path in readable:
        _allow(libc, rules, path, READ_FILE | READ_DIRECTORY | EXECUTE)
    _allow(libc, rules, writable, handled)
    _checked(libc.syscall(RESTRICT_SELF, rules, 0), "Landlock")
    os.close(rules)


def _allow(libc: ctypes.CDLL, rules: int, path: str, rights: int) -> None:
    """A path that is not there is left out."""
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    rights = rights if os.path.isdir(path) else rights & FILE_RIGHTS  # noqa: PTH112  see above
    rule = struct.pack("=Qi", rights, place)
    _checked(libc.syscall(ADD_RULE, rules, RULE_PATH_BENEATH, rule, 0), f"Landlock of {path}")
    os.close(place)


# ── seccomp ──────────────────────────────────────────────────────────────────────────────────────────────────────

# Name of the machine → (its AUDIT_ARCH, the place of the number in the table below).
MACHINES: Mapping[str, tuple[int, int]] = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
# Numbers on x86_64 and aarch64; None = that machine has no such call.
# fmt: off
REFUSED: Mapping[str, tuple[int | None, int | None]] = {
    # the network; a socketpair stays within the process
    "socket": (41, 198), "connect": (42, 203), "io_uring_setup": (425, 425),
    # other processes: new ones, other programs, signals, memory, limits
    "fork": (57, None), "vfork": (58, None), "execve": (59, 221), "execveat": (322, 281),
    "kill": (62, 129), "tkill": (200, 130), "tgkill": (234, 131),
    "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240),
    "pidfd_open": (434, 434), "pidfd_send_signal": (424, 424), "pidfd_getfd": (438, 438),
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "setsid": (112, 157), "setpgid": (109, 154), "setpriority": (141, 140),
    # memory that no limit counts, and that outlives the process
    "shmget": (29, 194), "semget": (64, 190), "msgget": (68, 186), "mq_open": (240, 180),
    # the kernel and its namespaces
    "unshare": (272, 97), "setns": (308, 268), "mount": (165, 40), "umount2": (166, 39),
    "pivot_root": (155, 41), "chroot": (161, 51), "move_mount": (429, 429), "open_tree": (428, 428),
    "fsopen": (430, 430), "fsmount": (432, 432), "mount_setattr": (442, 442),
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282),
    "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218),
    "open_by_handle_at": (304, 265), "personality": (135, 92),
    # what Landlock leaves open: owner, mode, times and attributes of files
    "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452),
    "chown": (92, None), "fchown": (93, 55), "lchown": (94, None), "fchownat": (260, 54),
    "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7),
    "removexattr": (197, 14), "lremovexattr": (198, 15), "fremovexattr": (199, 16),
    "utime": (132, None), "utimes": (235, None), "futimesat": (261, None), "utimensat": (280, 88),
}
# fmt: on
CLONE: tuple[int, int] = (56, 220)
PRLIMIT: tuple[int, int] = (302, 261)
CLONE3 = 435
CLONE_THREAD = 0x00010000
X32 = 0x40000000

LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16
ALLOW, KILL, ERROR = 0x7FFF0000, 0x80000000, 0x00050000
EPERM, ENOSYS = 1, 38


def refuse_calls() -> None:
    """The calls of REFUSED fail with EPERM, and so does making a process; a thread may still be made.

    clone3 fails with ENOSYS: its flags are in memory, where a filter cannot look, and the C library then uses clone.
    """
    libc = _libc()
    if platform.machine() not in MACHINES:
        raise OSError(f"no list of system calls for {platform.machine()}")
    program = _filter(*MACHINES[platform.machine()])
    buffer = ctypes.create_string_buffer(program)
    header = struct.pack("@HP", len(program) // 8, ctypes.addressof(buffer))
    result = libc.prctl(PR_SET_SECCOMP, ctypes.c_ulong(SECCOMP_MODE_FILTER), header, 0, 0)
    _checked(result, "seccomp")


def _filter(architecture: int, column: int) -> bytes:
    """A classic BPF program: struct sock_filter (code, jump if true, jump if false, operand), 8 bytes each."""
    lines = [
        (LOAD, 0, 0, ARCHITECTURE),
        (EQUAL, 1, 0, architecture),
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, NUMBER),
    ]
    if column == 0:
        lines += [(AT_LEAST, 0, 1, X32), (RETURN, 0, 0, ERROR | EPERM)]
    for numbers in REFUSED.values():
        number = numbers[column]
        if number is not None:
            lines += [(EQUAL, 0, 1, number), (RETURN, 0, 0, ERROR | EPERM)]
    lines += [(EQUAL, 0, 1, CLONE3), (RETURN, 0, 0, ERROR | ENOSYS)]
    for number, test, operand in ((CLONE[column], ANY_BIT, CLONE_THREAD), (PRLIMIT[column], EQUAL, 0)):
        lines += [
            (EQUAL, 0, 4, number),
            (LOAD, 0, 0, FIRST_ARGUMENT),
            (test, 0, 1, operand),
            (RETURN, 0, 0, ALLOW),
            (RETURN, 0, 0, ERROR | EPERM),
        ]
    lines.append((RETURN, 0, 0, ALLOW))
    return b"".join(struct.pack("@HBBI", *line) for line in lines)


# ── what holds ───────────────────────────────────────────────────────────────────────────────────────────────────


def observed(outside: str) -> dict[str, bool]:
    """Which protections hold, by trying. `outside`: a file of this user that must neither be read nor written.

    network: neither this machine nor a socket file can be reached · writing, reading: files outside · processes: none
    can be made · signals: the parent cannot be sent one
    """
    return {
        "network": _fails(_reach_loopback) and _fails(lambda: socket.socket(socket.AF_UNIX).close()),
        "writing": _fails(lambda: os.close(os.open(outside, os.O_WRONLY))),
        "reading": _fails(lambda: os.close(os.open(outside, os.O_RDONLY))),
        "processes": _fails(_make_a_process),
        "signals": _fails(lambda: os.kill(os.getppid(), 0)),
    }


def _fails(act: object) -> bool:
    assert callable(act)
    try:
        act()
    except OSError:
        return True
    return False


def _reach_loopback() -> None:
    """Sends nothing: connecting a datagram socket only looks for a way."""
    with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as sender:
        sender.connect(("127.0.0.1", 9))


def _make_a_process() -> None:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)

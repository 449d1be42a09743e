"""What the child process does to itself before it runs a stranger's code. Standard library only.

The parent passes this file's text to `python -I -c`, so it is the reviewer's own, whatever the sealed
source holds. Two steps: limits (CPU time, memory, open files, written bytes, no core), which every POSIX
system has; then what Linux gives: namespaces of its own where it may have them, Landlock, after which only the
interpreter and the unpacked source can be read and nothing can be written or executed, and a system call filter
for what Landlock leaves open (sockets, other processes, owners, modes and times of files).

    level "kernel"   limits, no file outside the readable paths, nothing changed, no network, no other process
    level "limits"   limits alone: the code could still read your files and reach your network

What stays possible under "kernel": to ask whether a path exists, and for its size and times.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import importlib
import os
import platform
import resource
import struct
import sys

CPU_SECONDS = 3600
MEMORY_BYTES = 4 * 1024**3
OPEN_FILES = 256

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_NO_NEW_PRIVILEGES, _SET_FILTER = 38, 22
_NEW_USER, _NEW_NET = 0x10000000, 0x40000000
_READ_FILE, _READ_DIR = 1 << 2, 1 << 3
_RIGHTS_BY_ABI = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1, 5: (1 << 16) - 1}
_TCP_BIND_AND_CONNECT = 0b11
_SOCKETS_AND_SIGNALS = 0b11

# System calls that are refused, by their number on x86_64 and on aarch64 (None: it has no such call).
_REFUSED: dict[str, tuple[int, int] | tuple[int, None]] = {
    # sockets, named ones too, and whatever could open one
    "socket": (41, 198), "connect": (42, 203), "accept": (43, 202), "accept4": (288, 242), "bind": (49, 200),
    "listen": (50, 201), "sendto": (44, 206), "sendmsg": (46, 211), "sendmmsg": (307, 269),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    # new processes, and other ones
    "fork": (57, None), "vfork": (58, None), "execve": (59, 221), "execveat": (322, 281), "tkill": (200, 130),
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272),
    "process_madvise": (440, 440), "pidfd_open": (434, 434), "pidfd_getfd": (438, 438),
    "pidfd_send_signal": (424, 424), "setpriority": (141, 140), "ioprio_set": (251, 30),
    "sched_setparam": (142, 118), "sched_setscheduler": (144, 119), "sched_setattr": (314, 274),
    "sched_setaffinity": (203, 122), "migrate_pages": (256, 238), "move_pages": (279, 239),
    # what Landlock does not see of files
    "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "chown": (92, None), "fchown": (93, 55),
    "lchown": (94, None), "fchownat": (260, 54), "utime": (132, None), "utimes": (235, None),
    "futimesat": (261, None), "utimensat": (280, 88), "truncate": (76, 45), "setxattr": (188, 5),
    "lsetxattr": (189, 6), "fsetxattr": (190, 7), "removexattr": (197, 14), "lremovexattr": (198, 15),
    "fremovexattr": (199, 16), "inotify_init": (253, None), "inotify_init1": (294, 26), "fanotify_init": (300, 262),
    "open_by_handle_at": (304, 265), "name_to_handle_at": (303, 264),
    # memory shared with other processes
    "shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195), "semget": (64, 190), "semop": (65, 193),
    "semctl": (66, 191), "semtimedop": (220, 192), "msgget": (68, 186), "msgsnd": (69, 189), "msgrcv": (70, 188),
    "msgctl": (71, 187), "mq_open": (240, 180), "mq_unlink": (241, 181), "memfd_create": (319, 279),
    # the system
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51), "unshare": (272, 97),
    "setns": (308, 268), "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430),
    "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442),
    "swapon": (167, 224), "swapoff": (168, 225), "reboot": (169, 142), "init_module": (175, 105),
    "finit_module": (313, 273), "delete_module": (176, 106), "kexec_load": (246, 104), "kexec_file_load": (320, 294),
    "quotactl": (179, 60), "syslog": (103, 116), "personality": (135, 92), "bpf": (321, 280), "acct": (163, 89),
    "perf_event_open": (298, 241), "userfaultfd": (323, 282), "seccomp": (317, 277), "add_key": (248, 217),
    "request_key": (249, 218), "keyctl": (250, 219),
}  # fmt: skip
# Allowed for this process alone; and clone for threads alone.
_OWN = {"kill": (62, 129), "tgkill": (234, 131), "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240)}
_PRLIMIT, _FCNTL, _CLONE, _CLONE3 = (302, 261), (72, 25), (56, 220), 435
_SET_OWNER_AND_SIGNAL = (8, 10, 15)
_CLONE_THREAD = 0x10000
_LAST_KNOWN_CALL = 451
_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
_LOAD, _JUMP_EQUAL, _JUMP_ABOVE, _JUMP_ANY_BIT, _RETURN = 0x20, 0x15, 0x25, 0x45, 0x06
_ALLOW, _KILL, _FAIL = 0x7FFF0000, 0x80000000, 0x00050000


def limit() -> None:
    """Bound what this process may use; a bound that the system lowers already stays as it is."""
    bounds = {
        resource.RLIMIT_CPU: CPU_SECONDS,
        resource.RLIMIT_AS: MEMORY_BYTES,
        resource.RLIMIT_NOFILE: OPEN_FILES,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: 0,
    }
    for kind, bound in bounds.items():
        hard = resource.getrlimit(kind)[1]
        bound = bound if hard == resource.RLIM_INFINITY else min(bound, hard)
        with contextlib.suppress(ValueError, OSError):  # macOS refuses some of them
            resource.setrlimit(kind, (bound, bound))


def isolate(readable: list[str]) -> str:
    """Give up the network and every file outside `readable`; the level that this system really gave."""
    if not sys.platform.startswith("linux"):
        return "limits"
    libc = ctypes.CDLL(None, use_errno=True)
    libc.unshare(_NEW_USER | _NEW_NET)  # where it is allowed: no powers over the system, no network devices
    if libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) != 0:
        return "limits"
    return "kernel" if _close_files(libc, readable) and _close_calls(libc) else "limits"


def _close_files(libc: ctypes.CDLL, readable: list[str]) -> bool:
    abi = int(libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), 1))
    if abi < 1:
        return False
    # The struct grew with the kernel: files, then TCP ports, then abstract sockets and signals.
    known = (_RIGHTS_BY_ABI[min(abi, 5)], _TCP_BIND_AND_CONNECT, _SOCKETS_AND_SIGNALS)
    fields = known[: 1 if abi < 4 else 2 if abi < 6 else 3]
    attributes = struct.pack(f"={len(fields)}Q", *fields)
    ruleset = libc.syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0)
    if ruleset < 0:
        return False
    for path in readable:
        with contextlib.suppress(OSError):  # what is not there needs no permission
            opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
            rights = _READ_FILE | (_READ_DIR if os.path.isdir(path) else 0)
            libc.syscall(_ADD_RULE, ruleset, 1, struct.pack("=Qi", rights, opened), 0)
            os.close(opened)
    closed = bool(libc.syscall(_RESTRICT_SELF, ruleset, 0) == 0)
    os.close(ruleset)
    return closed


def _close_calls(libc: ctypes.CDLL) -> bool:
    if platform.machine() not in _MACHINES or struct.calcsize("P") != 8 or sys.byteorder != "little":
        return False
    column, machine = _MACHINES[platform.machine()]
    program = b"".join(_filter(column, machine, os.getpid()))
    buffer = ctypes.create_string_buffer(program, len(program))
    described = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(buffer))
    return bool(libc.prctl(_SET_FILTER, 2, described, 0, 0) == 0)


def _filter(column: int, machine: int, own: int) -> list[bytes]:
    """A classic BPF program over `struct seccomp_data`: number at 0, machine at 4, six arguments from 16 on."""

    def step(code: int, k: int, yes: int = 0, no: int = 0) -> bytes:
        return struct.pack("HBBI", code, yes, no, k)

    def case(number: int, *steps: bytes) -> list[bytes]:
        return [step(_JUMP_EQUAL, number, 0, len(steps)), *steps]

    allow, refuse = step(_RETURN, _ALLOW), step(_RETURN, _FAIL | errno.EPERM)
    unknown = step(_RETURN, _FAIL | errno.ENOSYS)
    first = step(_LOAD, 16)
    program = [step(_LOAD, 4), step(_JUMP_EQUAL, machine, 1, 0), step(_RETURN, _KILL), step(_LOAD, 0)]
    program += [step(_JUMP_ABOVE, _LAST_KNOWN_CALL, 0, 1), unknown, *case(_CLONE3, unknown)]
    for refused in _REFUSED.values():
        number = refused[column]
        if number is not None:
            program += case(number, refuse)
    for calls in _OWN.values():
        program += case(calls[column], first, step(_JUMP_EQUAL, own, 0, 1), allow, refuse)
    owns = (step(_JUMP_EQUAL, 0, 1, 0), step(_JUMP_EQUAL, own, 0, 1))
    program += case(_PRLIMIT[column], first, *owns, allow, refuse)
    program += case(_CLONE[column], first, step(_JUMP_ANY_BIT, _CLONE_THREAD, 0, 1), allow, refuse)
    left = len(_SET_OWNER_AND_SIGNAL)
    tests = [step(_JUMP_EQUAL, command, left - i, 0) for i, command in enumerate(_SET_OWNER_AND_SIGNAL)]
    program += case(_FCNTL[column], step(_LOAD, 24), *tests, allow, refuse)
    return [*program, allow]


def interpreter_paths() -> list[str]:
    """Where this interpreter, its libraries and the system's shared objects are read from."""
    own = [sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix]
    return [path for path in [*own, "/usr/lib", "/usr/local/lib", "/lib", "/lib64", "/etc/ld.so.cache"] if path]


def forget_other_code() -> None:
    """Nothing is imported but from the interpreter's own folders: no checkout that a `.pth` file names."""
    folders = tuple(os.path.join(path, "") for path in interpreter_paths())
    sys.path[:] = [path for path in sys.path if os.path.join(path, "").startswith(folders)]


def enter(source: str, *, want: str, side: str) -> None:
    """Limit, isolate, and run the module `side` of the sealed source; say the level as the first line of output."""
    sys.dont_write_bytecode = True
    sys.pycache_prefix = os.path.join(source, "no-bytecode")
    # Answers go where nobody prints: descriptor 1 becomes what descriptor 2 is.
    answers = sys.stdout = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    forget_other_code()
    limit()
    level = isolate([source, *interpreter_paths()])
    print(f'{{"level":"{level}"}}', file=answers, flush=True)
    if want == "kernel" and level != "kernel":
        return
    sys.path.insert(0, source)
    importlib.import_module(side).main(source)

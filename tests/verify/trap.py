"""A world whose families each try one thing while they make a scenario; what comes of it is the briefing."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.studies import ROOT
from tests.world.makeshift import AGENTS, JUDGE, WORLD, edited, put_world

TRAP = edited(WORLD, 'FAMILIES = ("calm", "windy")', "FAMILIES = tuple(TRAPS)").replace(
    'briefing="Light the lamp, then say done.",', 'briefing=str(TRAPS[family](oil) or "nothing came of it"),'
).replace('"oil": oil}', '"oil": 3}').replace(
    '"""A lamp that can be lit."""\n',
    '''"""A trap."""
import ctypes, os, signal, socket, subprocess, sys, threading, time
from pathlib import Path

HERE = Path(__file__)


def spawn_thread(path):
    seen = []
    thread = threading.Thread(target=lambda: seen.append("a thread ran"))
    thread.start()
    thread.join()
    return seen[0]


def flood(path):
    while True:
        os.write(1, b"x" * 65536)


def grow(path):
    return len(bytearray(10 << 30))


def loop(path):
    while True:
        pass


def unread(path):
    import sealkit.verify.child as child

    child.spelled = lambda message, raw: b"{" + b" " * (10 << 20) + b"}\\n"


def raw(text):
    def answer(path):
        import sealkit.verify.child as child

        child.spelled = lambda message, raw: text

    return answer


def late(path):
    """Answers the request that is to come, too."""
    import sealkit.verify.child as child

    honest = child.spelled
    child.spelled = lambda message, raw: honest(message, raw) + b'{"measures":{"lit":1}}\\n'


TRAPS = {
    "calm": lambda path: "",
    "read": lambda path: Path(path).read_text(),
    "read_system": lambda path: Path("/etc/passwd").read_text(),
    "read_proc": lambda path: Path(f"/proc/{os.getppid()}/environ").read_bytes(),
    "list": lambda path: os.listdir(Path(path).parent),
    "list_root": lambda path: os.listdir("/"),
    "write": lambda path: Path(path).write_text("mine"),
    "append": lambda path: open(str(path), "a"),  # a number would be a descriptor: that of the answers
    "write_temporary": lambda path: Path("/tmp/sealkit-trap").write_text("mine"),
    "write_source": lambda path: HERE.write_text("mine"),
    "make_folder": lambda path: os.mkdir(path + ".folder"),
    "link": lambda path: os.symlink("/etc/passwd", HERE.with_name("passwd")),
    "rename": lambda path: os.rename(path, path + ".moved"),
    "remove": lambda path: os.unlink(path),
    "remove_source": lambda path: HERE.unlink(),
    "truncate": lambda path: os.truncate(path, 0),
    "change_mode": lambda path: os.chmod(path, 0o777),
    "change_owner": lambda path: os.chown(path, os.getuid(), os.getgid()),
    "change_times": lambda path: os.utime(path, (1, 1)),
    "mark": lambda path: os.setxattr(path, "user.mine", b"1"),
    "connect": lambda path: socket.create_connection(("127.0.0.1", int(path))),
    "connect_out": lambda path: socket.create_connection(("192.0.2.1", 80), timeout=5),
    "send": lambda path: socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
    "connect_unix": lambda path: socket.socket(socket.AF_UNIX).connect(path),
    "run": lambda path: subprocess.run(["/bin/sh", "-c", "echo mine"], capture_output=True),
    "execute": lambda path: os.execv("/bin/sh", ["sh", "-c", "echo mine"]),
    "fork": lambda path: os.fork(),
    "kill_parent": lambda path: os.kill(os.getppid(), signal.SIGTERM),
    "kill_all": lambda path: os.kill(-1, signal.SIGTERM),
    "slow_parent": lambda path: os.setpriority(os.PRIO_PROCESS, os.getppid(), 19),
    "load_library": lambda path: ctypes.CDLL(path),
    "more_memory": lambda path: __import__("resource").setrlimit(9, (-1, -1)),
    "thread": spawn_thread,
    "grow": grow,
    "print": lambda path: print("x" * 100000) or os.write(1, b"y" * 100000) and "printed",
    "print_errors": lambda path: print("x" * 300000, file=sys.stderr) or "printed",
    "exit": lambda path: os._exit(7),
    "leave": lambda path: sys.exit(7),
    "crash": lambda path: os.kill(os.getpid(), signal.SIGSEGV),
    "interrupt": lambda path: (_ for _ in ()).throw(KeyboardInterrupt()),
    "recurse": lambda path: (lambda f: f(f))(lambda f: f(f)),
    "loop": loop,
    "flood_errors": flood,
    "ten_megabytes": unread,
    "no_json": raw(b"hello\\n"),
    "a_float": raw(b'{"measures":{"lit":0.5}}\\n'),
    "nan": raw(b'{"measures":{"lit":NaN}}\\n'),
    "a_list": raw(b"[]\\n"),
    "null": raw(b"null\\n"),
    "nothing": raw(b"{}\\n"),
    "two_answers": raw(b'{"raw":["scenario"]}\\na\\nb\\n'),
    "many_lines": raw(b'{"raw":["a","b","c"]}\\na\\nb\\nc\\n'),
    "raw_is_no_list": raw(b'{"raw":5}\\n'),
    "deep": raw(b"[" * 100000 + b"\\n"),
    "late": late,
}
''')  # fmt: skip


def make_source(folder: Path, *, world: str = WORLD, judge: str = JUDGE) -> Path:
    """What an archive unpacks to: sealkit and the world."""
    shutil.copytree(ROOT / "sealkit", folder / "sealkit", ignore=shutil.ignore_patterns("__pycache__", "reference"))
    put_world(folder, world=world, judge=judge, agents=AGENTS)
    return folder

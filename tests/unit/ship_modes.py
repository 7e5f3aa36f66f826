#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""ship_modes.py - who may read what sqtrace-ship wrote, and whose states it believes: groups, ACLs, umasks, boots."""
import errno
import grp
import os
import pwd
import stat
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import refused  # noqa: E402
import shipped  # noqa: E402
from shipped import SHIP, TOOLS, check, files, make_folder  # noqa: E402

FORGED = os.path.join(TOOLS, "tests/unit/make_forged")
ROOT = os.geteuid() == 0
NOBODY, NO_ID = 65534, 0xffffffff
# linux/posix_acl.h
OWNER, USER, GROUP, MASK, OTHER = 1, 2, 4, 16, 32
UNCHANGED = NO_ID  # an argument of fchown(): only the group changes


def segment(folder, name, sequence=0, mode=0o640, boot=None):
    """A segment of one ring, with 10 requests."""
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, name + ".sqt")
    subprocess.run([FORGED, path, "1", "0", "proxyA", str(sequence), str(100 * sequence), "10", "1", "0", *([boot] if boot else [])], check=True)
    os.chmod(path, mode)
    if ROOT:
        os.chown(path, -1, NOBODY)
    return folder


def run(*words, **more):
    got = subprocess.run([SHIP, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, **more)
    return got.returncode, got.stderr


def ship(out, trace, **more):
    return run(trace, "--to=" + out, *make_folder(out), "--least-size=0", "--table=requests", **more)


def compact(out, **more):
    return run("--compact", "--to=" + out, "--least-age=0", "--grace=0", **more)


def stage_of(out):
    folder = os.path.join(out, ".sqtrace-ship")
    names = [name for name in os.listdir(folder) if len(name) == 32]
    return os.path.join(folder, names[0])


# ---- groups ----

def group_kept(scratch):
    """A merged file that cannot get the group of the small ones: they stay."""
    out, trace = os.path.join(scratch, "group"), os.path.join(scratch, "group-trace")
    if refused.known() or not ROOT:
        check(True, "a merged file that cannot get a group", skip=refused.known() or "takes root, for files of another group")
        return
    for n in range(2):
        ship(out, segment(trace, "s%d" % n, n))
    before = sorted(files(out))
    got, said = compact(out, preexec_fn=refused.calls(("fchown", errno.EPERM, 1, UNCHANGED)))
    left = [name for name in os.listdir(os.path.join(out, ".sqtrace-ship")) if name.endswith(".part")]
    check(got == 1 and "small files stay, because a merged one cannot get their group (%d)" % NOBODY in said and said.count("\n") <= 2
          and sorted(files(out)) == before and len(before) == 2 and not left, "a merged file that cannot get a group is said, and the small ones stay", got, said, left)
    got, said = compact(out)
    check(got == 0 and len(files(out)) == 1, "another run that may give it merges them", got, said, len(files(out)))


# ---- ACLs ----

def acl(*entries):
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


def acl_of(path):
    """tag -> what a file's ACL lets it do; {} for none."""
    try:
        data = os.getxattr(path, "system.posix_acl_access")
    except OSError:
        return {}
    return {tag: permissions for tag, permissions, _ in struct.iter_unpack("<HHI", data[4:])}


def named(folder, who=None):
    """A folder whose default ACL lets user 65534 read; False if the file system has none."""
    os.mkdir(folder)
    os.chmod(folder, 0o755)
    try:
        for name in ("default", "access"):
            os.setxattr(folder, "system.posix_acl_" + name, acl((OWNER, 7, NO_ID), (USER, 7, NOBODY), (GROUP, 5, NO_ID), (MASK, 7, NO_ID), (OTHER, 0, NO_ID)))
    except OSError:
        return False
    if who is not None:
        os.chown(folder, who, -1)
    return True


def acls(scratch):
    """Whom the default ACL of OUT names may read what is there, whatever the trace's group may."""
    for number, (what, mode, more, group) in enumerate((
            ("of mode 640", 0o640, (), 4), ("that only its owner may read", 0o600, (), 0),
            ("whose group a file cannot get", 0o640, (("fchown", errno.EPERM),), 0))):
        out, trace = os.path.join(scratch, "acl-%d" % number), os.path.join(scratch, "acl-trace-%d" % number)
        if not named(out) or (more and (refused.known() or not ROOT)):
            check(True, "an ACL, and a trace " + what, skip="no ACL here" if not more else refused.known() or "takes root")
            continue
        for n in range(2):
            ship(out, segment(trace, "s%d" % n, n, mode), preexec_fn=refused.calls(*more) if more else None)
        wanted = {OWNER: 6, USER: 4, GROUP: group, MASK: 4, OTHER: 0}
        found = [acl_of(path) for path in files(out)]
        check(found == 2 * [wanted], "a user whom the ACL of OUT names may read what is shipped of a trace " + what, found)
        got, said = compact(out)
        found = [acl_of(path) for path in files(out)]
        check(got == 0 and found == [wanted], "and what is merged of it", got, said, found)
        private = [acl_of(stage_of(out) + end).get(MASK) for end in ("", ".lock")]
        check(private == [0, 0], "but no state and no lock", private)


def acl_of_others(scratch):
    """An ACL that somebody else gave OUT names nobody."""
    out, trace = os.path.join(scratch, "acl-other"), segment(os.path.join(scratch, "acl-trace-other"), "a")
    if not ROOT or not named(out, NOBODY):
        check(True, "an ACL that somebody else gave OUT", skip="takes root, and ACLs")
        return
    got, said = ship(out, trace)
    found = [(acl_of(path), stat.S_IMODE(os.stat(path).st_mode)) for path in files(out)]
    check(got == 0 and found == [({}, 0o640)], "a folder of somebody else lets nobody read whom its ACL names", got, said, found)


# ---- umasks ----

def users():
    """(a user with a group of his own, one in a group with others), as (name, uid, gid); None: there is none."""
    own = shared = None
    for who in pwd.getpwall():
        try:
            group = grp.getgrgid(who.pw_gid)
        except KeyError:
            continue
        if who.pw_uid and not own and group.gr_name == who.pw_name and set(group.gr_mem) <= {who.pw_name}:
            own = (who.pw_uid, who.pw_gid)
        if who.pw_uid and not shared and group.gr_name != who.pw_name:
            shared = (who.pw_uid, who.pw_gid)
    return own, shared


def umasks(scratch):
    """A state of mode 664, as the umask 002 makes it: the group may be the user's own."""
    if not ROOT:
        check(True, "states that a group may write to", skip="takes root, to be other users")
        return
    program = os.path.join(scratch, "sqtrace-ship")  # others cannot enter the folder of the build
    subprocess.run(["cp", SHIP, program], check=True)
    own, shared = users()
    crowd = os.path.join(scratch, "etc-group")  # as /etc/group, where another user is in the user's own group
    with open(crowd, "w", encoding="utf-8") as file:
        file.writelines("%s:x:%d:%s\n" % (one.gr_name, one.gr_gid, "somebody" if own and one.gr_gid == own[1] else "") for one in grp.getgrall())
    mounted = ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/group && exec "$@"', crowd]
    mounts = subprocess.run([*mounted, "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0
    for what, who, mode, status, before in (("of his own", own, 0o664, 0, ()), ("of his own, and that all others may", own, 0o666, 1, ()),
                                            ("of another name", shared, 0o664, 1, ()), ("of his name, with others in it", own if mounts else None, 0o664, 1, mounted)):
        if not who:
            check(True, "a state that a group may write to, " + what, skip="there is no such user, or nothing can be mounted")
            continue
        place = tempfile.mkdtemp(dir=scratch)
        out, trace = os.path.join(place, "out"), os.path.join(place, "trace")
        words = [*before, "setpriv", "--reuid=%d" % who[0], "--regid=%d" % who[1], "--clear-groups", program, trace, "--to=" + out, "--least-size=0", "--table=requests"]

        def as_user(*more):
            got = subprocess.run([*words, *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
            return got.returncode, got.stderr
        os.chown(place, *who)
        for n in range(2):
            segment(trace, "s%d" % n, n, 0o644)
            if n:
                os.chmod(stage_of(out), mode)
            got, said = as_user(*make_folder(out))
        good = got == status and len(files(out)) == (1 if status else 2)
        check(good and (not status or ("others may write to it" in said and "chmod go-w makes it count" in said)),
              "a state that a group may write to, %s: it %s" % (what, "is not believed" if status else "counts"), got, said, len(files(out)))
        os.chmod(stage_of(out), 0o600)
        got, said = as_user()
        check(got == 0 and len(files(out)) == 2, "after chmod it counts", got, said)


# ---- boots ----

def boots(scratch):
    """A state that is ahead of its trace: after a crash of the machine that is no fault, and else it is."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        now = file.read().strip().replace("-", "")
    for what, boot, status in (("of this boot", now, 1), ("of an earlier boot", "ab" * 16, 0)):
        place = tempfile.mkdtemp(dir=scratch)
        out, trace = os.path.join(place, "out"), os.path.join(place, "trace")
        for n in range(2):
            segment(trace, "s%d" % n, n, boot=boot)
        first = ship(out, trace)
        os.remove(os.path.join(trace, "s1.sqt"))  # as a crash takes what the disk did not have
        os.utime(stage_of(out), (10 ** 9, 10 ** 9))
        segment(os.path.join(place, "other"), "a")
        got, said = ship(out, trace)
        check(first[0] == 0 and got == status and "says that 200 records were shipped, but the trace ends at 100" in said
              and ("was started anew" in said) == (status == 0) and said.count("says that") == 1, "a state that is ahead of a trace %s: status %d" % (what, status), got, said)
        check(len(files(out)) == 1, "and nothing is shipped twice", len(files(out)))


def main():
    with tempfile.TemporaryDirectory() as scratch:
        os.chmod(scratch, 0o755)
        for case in (group_kept, acls, acl_of_others, umasks, boots):
            case(scratch)
    shipped.plan()


main()
